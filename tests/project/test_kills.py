"""A short run of tools/kills.py: random kills and signals lose nothing."""

import importlib.util
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix")
def test_random_kills_lose_nothing():
    path = Path(__file__).parents[2] / "tools" / "kills.py"
    spec = importlib.util.spec_from_file_location("kills", path)
    kills = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(kills)
    result = kills.campaign(kills=27, signals=6, seed=1)
    assert not result["failures"]
