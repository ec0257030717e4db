"""Kernels of the library do as Numba has them do, or say what does not fit.

Those of `samples.py` are built into a library, and called beside what Numba makes of them.
"""

from __future__ import annotations

import gc
import os
import resource
import shutil
import subprocess
import sys
import time
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from decimal import Decimal
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from numpy.lib.stride_tricks import as_strided

from driftline.kernels.build import build
from driftline.kernels.signatures import ArrayOf, Number, TupleType, Type, dtype_of
from tests.kernels import samples

Shipped = Callable[[Any], Any]


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library of the samples, and what calls it."""
    made = tmp_path_factory.mktemp("library")
    build(into=made, homes=[samples.__name__])
    return made


@pytest.fixture(scope="session")
def caller(folder: Path) -> Any:
    spec: Any = spec_from_file_location("driftline.kernels.caller", *folder.glob("caller.*"))
    return module_from_spec(spec)


@pytest.fixture(scope="session")
def shipped(caller: Any, folder: Path) -> Shipped:
    """Gives the kernel of the library that is the same as one of Numba's."""
    library, _ = caller.open(*map(str, folder.glob("machine_code.*")))
    return lambda kernel: caller.Kernel(library, kernel.name, kernel)


def python(code: str, *arguments: str, **more: Any) -> subprocess.CompletedProcess[str]:
    """What code does in a process of its own."""
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, **more)


# What fits


def read_only(array: Any) -> Any:
    view = array.view()
    view.flags.writeable = False
    return view


def unaligned(array: Any) -> Any:
    made: Any = np.zeros(array.nbytes + 1, np.uint8)[1:].view(array.dtype).reshape(array.shape)
    made[...] = array
    return made


class OfUsers(np.ndarray[Any, Any]):
    pass


LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "backwards": lambda array: array[::-1],
    "a step": lambda array: array.repeat(2, axis=0)[::2],
    "unaligned": unaligned,
    "zero strides": lambda array: as_strided(array, array.shape, (0,) * array.ndim),
    "by columns": np.asfortranarray,
    "read only": read_only,
    "a subclass": lambda array: array.view(OfUsers),
    "as it is": lambda array: array,
}


def values_of(type_: Type) -> st.SearchStrategy[Any]:
    """Arguments of a type."""
    match type_:
        case Number("i8"):
            return st.integers(-(2**63), 2**63 - 1)
        case Number("f8"):
            return st.floats()
        case ArrayOf(kind, count, is_frozen):
            empty = np.zeros((0,) * count, dtype_of(kind))
            shapes = array_shapes(min_dims=count, max_dims=count, max_side=4)
            plain = arrays(dtype_of(kind), shapes) | st.just(empty)
            layouts = st.sampled_from([*LAYOUTS.values()])
            return st.builds(lambda lay, array: lay(array), layouts, plain) if is_frozen else plain
        case TupleType(items, class_):
            made = st.tuples(*map(values_of, items))
            return made if class_ is None else made.map(class_._make)  # type: ignore[attr-defined]
    return st.booleans()


def seen(value: Any) -> object:
    """All that can be seen of a value, also of NaN."""
    if isinstance(value, tuple):
        return type(value), [*map(seen, value)]
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    return type(value), repr(value)


EVERY: list[Any] = [
    *(samples.numbers, samples.one, samples.copies, samples.views, samples.narrow),
    *(samples.nested, samples.numbered),
]


@pytest.mark.parametrize("kernel", EVERY, ids=lambda kernel: kernel.__name__)
@given(st.data())
def test_results_are_those_of_numba(shipped: Shipped, kernel: Any, data: st.DataObject) -> None:
    arguments = data.draw(st.tuples(*map(values_of, kernel.types)))
    ours = seen(shipped(kernel)(*arguments)), seen(arguments)
    assert ours == (seen(kernel(*arguments)), seen(arguments))  # also what was written


WHOLE = [-(2**63), 2**63 - 1, True, np.int8(-3), np.uint64(7), np.int64(2**63 - 1), 0]
NUMBERS = [-0.0, float("nan"), 2**53 + 1, 2**64, True, np.float32(0.1), np.float64(0.1)]
TRUTHS = [True, False, 2, -1, np.bool_(True), np.int64(0), 0.5]


@pytest.mark.parametrize("arguments", [*zip(WHOLE, NUMBERS, TRUTHS, strict=True)])
def test_numbers_are_taken_as_numba_takes_them(shipped: Shipped, arguments: Any) -> None:
    assert seen(shipped(samples.numbers)(*arguments)) == seen(samples.numbers(*arguments))


ITEMS: Any = np.arange(12, dtype=np.int64)


def test_arrays_of_subclasses_and_without_items_fit(shipped: Shipped) -> None:
    for array in (ITEMS.view(OfUsers), ITEMS[5:5], as_strided(ITEMS, (1,), (0,))):
        for each in shipped(samples.tails)(array, array):
            assert (type(each), each.tolist()) == (np.ndarray, array[1:].tolist())


def test_what_is_read_only_is_not_written(shipped: Shipped) -> None:
    """What a kernel would write is a copy."""
    array = np.frombuffer(np.full(3, 9).tobytes(), np.int64)
    for kernel in (samples.numbered, shipped(samples.numbered)):
        kernel(array, samples.Pair(array, array))
        assert array.tolist() == [9, 9, 9]


# What does not

NO_NUMBERS: list[Any] = ["3", None, [], 1j, Decimal(3), np.array(3), np.array([3]), ITEMS]
NO_WHOLE = [2**63, -(2**63) - 1, 10**5000, np.uint64(2**63), 2.0, np.float64(2), np.bool_(True)]


@pytest.mark.parametrize(
    ("place", "value"),
    [
        *[(place, value) for place in range(3) for value in NO_NUMBERS],
        *[(0, value) for value in NO_WHOLE],
        *[(1, value) for value in (2**1024, np.longdouble(1))],
    ],
    ids=lambda value: type(value).__name__,  # some cannot be printed
)
def test_what_is_no_such_number_is_refused(shipped: Shipped, place: int, value: Any) -> None:
    arguments: list[Any] = [1, 2.0, True]
    arguments[place] = value
    with pytest.raises(TypeError, match=r"^the kernel numbers takes \(i8, f8, b1\), not \(.*\)$"):
        shipped(samples.numbers)(*arguments)


@pytest.mark.parametrize("layout", [*LAYOUTS][:4])
def test_an_array_in_pieces_cannot_be_written(shipped: Shipped, layout: str) -> None:
    with pytest.raises(TypeError, match=r"not \(Ai81 in pieces, Ai81w\)"):
        shipped(samples.tails)(LAYOUTS[layout](ITEMS), ITEMS)


REFUSED = {
    "Ai41w": ITEMS.astype(np.int32),
    "Af81w": ITEMS.astype(float),
    "Au81w": ITEMS.astype(np.uint64),
    "A>i81w": ITEMS.astype(">i8"),
    "AM8[s]1w": ITEMS.astype("M8[s]"),
    "AO1w": ITEMS.astype(object),
    "Ai82w": ITEMS.reshape(3, 4),
    "Ai80w": np.array(3),
    "[1, 2]": [1, 2],
    "<memory": memoryview(ITEMS),
}


@pytest.mark.parametrize("name", REFUSED)
def test_an_array_of_another_kind_is_refused(shipped: Shipped, name: str) -> None:
    array = REFUSED[name]
    for arguments, what in (((array, ITEMS), f"{name}"), ((ITEMS, array), f"Ai81w, {name}")):
        with pytest.raises(TypeError) as refused:
            shipped(samples.tails)(*arguments)
        start = f"the kernel tails takes (Ai81w, Ai81r), not ({what}"
        assert str(refused.value).startswith(start)


@pytest.mark.parametrize("arguments", [(), (1, 2.0), (1, 2.0, True, 4)])
def test_another_number_of_arguments_is_refused(shipped: Shipped, arguments: Any) -> None:
    with pytest.raises(TypeError, match="the kernel numbers takes"):
        shipped(samples.numbers)(*arguments)


def test_kernels_are_called_by_position(shipped: Shipped) -> None:
    with pytest.raises(TypeError, match="the kernel zeros is called by position, not by name"):
        shipped(samples.zeros)(size=2)


# Errors

RAISING: list[tuple[Any, tuple[Any, ...]]] = [
    *[(samples.failing, (how, (1, 2))) for how in (0, 1, 2, 3, 9)],
    *[(samples.zeros, (size,)) for size in (-1, -(2**60), 2**60, 2**60 - 1)],
]


@pytest.mark.parametrize(("kernel", "arguments"), RAISING)
def test_errors_are_those_of_numba(shipped: Shipped, kernel: Any, arguments: Any) -> None:
    with pytest.raises(Exception) as of_numba:  # noqa: PT011
        kernel(*arguments)
    with pytest.raises(of_numba.type) as ours:
        shipped(kernel)(*arguments)
    assert ours.value.args == of_numba.value.args


def test_an_error_that_numba_computes_is_an_error(shipped: Shipped) -> None:
    with pytest.raises(ValueError, match="cannot assign slice of shape"):
        samples.replaced(ITEMS.copy(), ITEMS[:2])
    with pytest.raises(RuntimeError, match=r"^the kernel tests.kernels.samples.replaced failed$"):
        shipped(samples.replaced)(ITEMS.copy(), ITEMS[:2])


COMPUTED = """
from driftline.kernels import compiled

@compiled
def kernel(value: int) -> int:
    if value:
        raise ValueError("not zero", value)
    return value
"""
BUILDING = """
from pathlib import Path
from driftline.kernels.build import build
build(into=Path(), homes=["computed"])
"""


def test_an_error_that_says_what_was_computed_cannot_be_built(tmp_path: Path) -> None:
    (tmp_path / "computed.py").write_text(COMPUTED)
    ran = python(BUILDING, cwd=tmp_path)
    assert "computed.kernel cannot be compiled: the arguments of an error" in ran.stderr


# Memory


def memory() -> int:
    """How many bytes this process has."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


@pytest.mark.parametrize("kind", ["new", "views", "nested", "copied", "raising", "refused"])
def test_nothing_leaks(shipped: Shipped, kind: str) -> None:
    values, pieces, numbers = ITEMS.copy(), ITEMS[::2], (1, 2)
    pair = samples.Pair(values, values)
    nest = samples.Nest(pair, (1, (True, 0.5)), np.ones((2, 2)))
    kernel, arguments = {
        "new": (samples.zeros, (1000,)),
        "views": (samples.tails, (values, values)),
        "nested": (samples.nested, (nest, (pair, numbers))),
        "copied": (samples.tails, (read_only(pieces), pieces)),
        "raising": (samples.failing, (0, numbers)),
        "refused": (samples.tails, (pieces, values)),
    }[kind]
    call, held = shipped(kernel), [kernel, values, pieces, numbers, *pair, *nest, *arguments]

    def counts_after(calls: int) -> list[int]:
        for _ in range(calls):
            with suppress(ValueError, TypeError):
                call(*arguments)
        return [sys.getrefcount(each) for each in held]

    before, bytes_before = counts_after(2000), memory()
    assert counts_after(20_000) == before
    assert memory() - bytes_before < 1_000_000


def test_a_view_keeps_what_it_is_of_and_nothing_else(shipped: Shipped) -> None:
    values, frozen = ITEMS.copy(), ITEMS.copy()
    alive, other = weakref.ref(values), weakref.ref(frozen)
    view, of_frozen = shipped(samples.tails)(values, frozen)
    view[0] = 100
    assert (values[1], of_frozen.flags.writeable) == (100, False)
    del values, frozen, of_frozen
    assert (alive() is not None, other()) == (True, None)
    assert view.tolist() == [100, *range(2, 12)]
    del view
    assert alive() is None


def test_a_view_is_not_of_the_array_that_ends_where_it_begins(shipped: Shipped) -> None:
    buffer = bytearray(64)
    values, frozen = np.frombuffer(buffer, np.int64, 4), np.frombuffer(buffer, np.int64, 5, 24)
    assert shipped(samples.tails)(values, frozen)[1].base is frozen


def test_a_new_array_lives_as_long_as_what_is_left_of_it(shipped: Shipped) -> None:
    kernel = shipped(samples.zeros)
    part = kernel(1000)[10:20]
    del kernel
    gc.collect()
    others = [shipped(samples.zeros)(1000) + 1 for _ in range(100)]
    assert (part.tolist(), len(others)) == ([0] * 10, 100)


# Threads


def test_others_go_on_while_a_kernel_runs(shipped: Shipped) -> None:
    """If it did not let Python go on, it would have counted to the end before anything else."""
    count, stop, most = np.zeros(1, np.int64), np.zeros(1, np.int64), 10**10
    with ThreadPoolExecutor(2) as pool:
        running = pool.submit(shipped(samples.counting), count, stop, most)
        for _ in range(3):
            before = int(count[0])
            while count[0] == before and not running.done():
                time.sleep(0.001)
        stop[0] = 1
        assert running.result() < most


def test_many_threads_call_one_kernel(shipped: Shipped) -> None:
    kernel = shipped(samples.tails)

    def is_right(number: int) -> bool:
        values = np.arange(number, number + 50)
        expected = [[*range(number + 1, number + 50)], [*range(number + 48, number - 1, -1)]]
        calls = (kernel(values, values[::-1]) for _ in range(100))
        return all([each.tolist() for each in found] == expected for found in calls)

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(is_right, range(100)))


# Libraries that are damaged, or not there

OPENING = """
import sys
from pathlib import Path
import driftline.kernels
from driftline.kernels import jit, shipped

folder = Path(sys.argv[1])
driftline.kernels.__path__.insert(0, str(folder))  # with the caller
shipped.path = lambda baseline: folder / f"machine_code.{baseline}"
if "unsupported" in sys.argv:
    shipped.baselines = tuple
from tests.kernels.samples import one
print(shipped.is_there(), isinstance(one, jit.Kernel), one())
"""
BY_NUMBA, BY_LIBRARY = "False True 1.0\n", "True False 1.0\n"


def opened(folder: Path, *more: str, choice: str = "") -> subprocess.CompletedProcess[str]:
    """What happens with the library in a folder."""
    environment = {**os.environ, "DRIFTLINE_KERNELS": choice}
    return python(OPENING, str(folder), *more, env=environment)


def test_a_library_is_opened_wherever_it_is(folder: Path, tmp_path: Path) -> None:
    ran = opened(shutil.copytree(folder, tmp_path / os.fsdecode(b"\xff")), choice="shipped")
    assert (ran.stdout, ran.stderr) == (BY_LIBRARY, "")


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda whole: b"",
    "garbage": lambda whole: b"garbage" * 100,
    "its head": lambda whole: whole[:100],
    "its first half": lambda whole: whole[: len(whole) // 2],
    "all but a byte": lambda whole: whole[:-1],
    "zeros inside": lambda whole: whole[:8192] + bytes(4096) + whole[12288:],
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_library_is_none(folder: Path, tmp_path: Path, damage: str) -> None:
    (path,) = shutil.copytree(folder, tmp_path / "library").glob("machine_code.*")
    path.write_bytes(DAMAGES[damage](path.read_bytes()))
    ran = opened(path.parent)
    assert (ran.returncode, ran.stdout) == (0, BY_NUMBA)
    assert ran.stderr == f"driftline: {path} is damaged: driftline prepare builds it anew\n"


@pytest.mark.parametrize("why", ["missing", "unsupported"])
def test_without_a_library_numba_compiles(folder: Path, tmp_path: Path, why: str) -> None:
    (path,) = shutil.copytree(folder, tmp_path / "library").glob("machine_code.*")
    if why == "missing":
        path.unlink()
    ran = opened(path.parent, why)
    assert (ran.stdout, ran.stderr) == (BY_NUMBA, "")
    ran = opened(path.parent, why, choice="shipped")
    assert ran.returncode == 1
    assert "tests.kernels.samples.one is not in the library" in ran.stderr.splitlines()[-1]


def test_what_is_no_library_is_an_error(caller: Any, tmp_path: Path) -> None:
    (tmp_path / "garbage").write_bytes(b"garbage" * 100)
    for path, why in (("garbage", "invalid ELF header"), ("missing", "No such file")):
        with pytest.raises(OSError, match=why):
            caller.open(str(tmp_path / path))
    with pytest.raises(OSError, match="undefined symbol: driftline_kernels"):
        caller.open(caller.__file__)


def test_no_other_processor_is_supported(caller: Any) -> None:
    assert [caller.supports(name) for name in ("", "x86-64-v9", "sparc")] == [False] * 3
