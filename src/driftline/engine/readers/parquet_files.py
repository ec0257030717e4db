"""Parquet files: what is damaged, or has two columns of one name, is refused in one line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from driftline.plan.errors import PlanError

if TYPE_CHECKING:
    import pyarrow.parquet as pq


@contextmanager
def parquet_file(path: Path) -> Iterator[pq.ParquetFile]:
    """A Parquet file, open for reading."""
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            names = file.schema_arrow.names
            twice = next((name for name, count in Counter(names).items() if count > 1), None)
            if twice is not None:
                raise PlanError(f"{path}: there are two columns {twice}: rename one")
            yield file
    except (pa.ArrowException, UnicodeDecodeError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise PlanError(f"{path}: this is not a Parquet file that can be read: {error}") from None
