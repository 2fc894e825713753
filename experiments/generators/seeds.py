"""Seeds for blocks of work."""

from __future__ import annotations

import numpy as np

RandomState = int | np.integer | np.random.Generator | np.random.SeedSequence | None


def block_seeds(rng: np.random.Generator, count: int) -> np.ndarray:
    """Draw one uint64 seed per block, so that its numbers do not depend on the thread that runs it."""
    return rng.integers(0, 2**64, size=count, dtype=np.uint64)
