"""A script of a user with types, which ``make lint`` checks by ``mypy --strict``."""

import softvec
from softvec import Embedding


def nearest(emb: Embedding, name: str) -> dict[str, float]:
    """Return the cosines of the nearest names."""
    return dict(emb.most_similar(name, n=2))


def cosine(emb: Embedding, a: str, b: str) -> float:
    """Return the cosine of two names."""
    return emb.similarity(a, b)


def main() -> list[str]:
    """Embed three edges, and use names as text."""
    emb = softvec.embed([("a", "b"), ("b", "c"), ("c", "a")], 2, random_state=0)
    names: list[str] = list(emb)
    near = dict[str, float](emb.most_similar("a"))
    cosines: list[float] = emb.similarity(["a", "b"], ["b", "c"]).tolist()
    first: str = emb.names[0]
    rows: int = len(emb.to_dataframe())
    lines = [f"{name.upper()} {value:.2f}" for name, value in emb.most_similar("a", n=1)]
    return [*names, *near, *lines, first, f"{rows} {cosines} {nearest(emb, first)} {cosine(emb, first, 'b')}"]
