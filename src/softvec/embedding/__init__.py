"""Named vectors: neighbours, groups, maps and files."""

from softvec.embedding.core import Embedding

__all__ = ["Embedding"]
