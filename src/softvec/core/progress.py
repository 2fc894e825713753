"""Progress bar for loops in the library."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

T = TypeVar("T")


def progress(items: Iterable[T], verbose: bool, title: str) -> Iterable[T]:
    """Show a progress bar on standard error while looping over ``items``, if ``verbose``."""
    if not verbose:
        return items
    from tqdm import tqdm

    bar: Iterable[T] = tqdm(items, desc=title, leave=False)
    return bar
