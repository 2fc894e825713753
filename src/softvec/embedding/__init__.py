"""Named vectors and what one does with them: neighbours, groups, maps, files."""

from softvec.embedding.core import Embedding

__all__ = ["Embedding"]
