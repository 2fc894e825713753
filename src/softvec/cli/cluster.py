"""The end of a checkpoint of ``softvec embed``."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any


def remove_checkpoint(checkpoint: str | os.PathLike[str] | None, made: Mapping[str, Any]) -> None:
    """Delete the checkpoint of a fit whose vectors are saved: only now, or a kill would lose them."""
    if checkpoint is None:
        return
    from softvec.fit.checkpoint import Checkpoint
    from softvec.fit.views import checkpoints_of_views

    paths = checkpoints_of_views(checkpoint)
    for path in reversed(paths if made["view"]["chosen"] == "fused" else paths[:1]):
        Checkpoint(path, 1, "").delete()
