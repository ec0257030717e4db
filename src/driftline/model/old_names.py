"""Old names of the public interface, which work for one release with a warning."""

from __future__ import annotations

import warnings


def renamed(old: str, new: str) -> None:
    """Warn the caller's caller that it has used an old name."""
    message = f"{old} is now called {new}; the old name goes with the next release"
    warnings.warn(message, DeprecationWarning, stacklevel=3)
