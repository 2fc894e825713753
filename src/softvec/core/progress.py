"""Progress bars of loops and fits."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

T = TypeVar("T")


def progress(items: Iterable[T], verbose: bool, title: str) -> Iterable[T]:
    """Show a progress bar on standard error while looping over ``items``, if ``verbose``."""
    if not verbose:
        return items
    from tqdm import tqdm

    bar: Iterable[T] = tqdm(items, desc=title, leave=False)
    return bar


class Progress:
    """A tqdm bar with the loss."""

    def __init__(self, n_epochs: int | None, done: int):
        from tqdm.auto import tqdm

        self._bar: Any = tqdm(total=n_epochs, initial=done, desc="EDRep", unit="epoch")

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.close()

    def show(self, epoch: int, loss: float, **more: Any) -> None:
        """Show an epoch with its loss and further values."""
        self._bar.set_postfix(loss=f"{loss:.4f}", **more)
        self._bar.update(epoch - self._bar.n)
