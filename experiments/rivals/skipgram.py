"""Skip-gram with negative sampling by gensim: DeepWalk on walks, Gene2Vec on pairs."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from experiments.rivals.walks import random_walks


def deepwalk(
    A: Any,
    d: int,
    *,
    walks: int = 10,
    length: int = 80,
    window: int = 10,
    negative: int = 5,
    epochs: int = 1,
    seed: int = 0,
) -> np.ndarray:
    """Embed a graph by DeepWalk; nodes that no walk can leave or reach get the zero vector.

    Walks are softvec's (Numba); gensim reads them from a file, its fastest way (no Python in the loop).
    """
    made = random_walks(A, walks, length, random_state=seed)
    made = made[made[:, 1] >= 0] if length > 1 else made  # a walk of one node teaches nothing
    return _train(_write(made), A.shape[0], d, window=window, negative=negative, epochs=epochs, seed=seed)


def skipgram_pairs(
    pairs: np.ndarray, n: int, d: int, *, epochs: int, window: int = 1, seed: int = 0
) -> np.ndarray:
    """Embed items by skip-gram on pairs taken as sentences of two words, shuffled, as Gene2Vec does."""
    order = np.random.default_rng(seed).permutation(len(pairs))
    return _train(_write(pairs[order]), n, d, window=window, negative=5, epochs=epochs, seed=seed)


def _write(sentences: np.ndarray) -> Path:
    """Write one line per row, without the -1 at the end of short walks."""
    handle, name = tempfile.mkstemp(suffix=".txt")
    width = sentences.shape[1]
    with os.fdopen(handle, "w") as file:
        for lo in range(0, len(sentences), 50_000):
            block = sentences[lo : lo + 50_000]
            text = " ".join(map(str, np.column_stack([block, np.full(len(block), -2)]).ravel().tolist()))
            text = text.replace(" -2 ", "\n").removesuffix(" -2") + "\n"
            file.write(text.replace(" -1", "") if width > 2 else text)
    return Path(name)


def _train(path: Path, n: int, d: int, *, window: int, negative: int, epochs: int, seed: int) -> np.ndarray:
    from gensim.models import Word2Vec

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        model = Word2Vec(
            corpus_file=str(path),
            vector_size=d,
            window=window,
            sg=1,
            negative=negative,
            min_count=0,
            sample=0,
            epochs=epochs,
            workers=cores,
            seed=seed,
        )
    finally:
        path.unlink(missing_ok=True)
    vectors = np.zeros((n, d), dtype=np.float32)
    vectors[[int(key) for key in model.wv.index_to_key]] = model.wv.vectors
    return vectors
