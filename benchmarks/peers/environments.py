"""Virtual environments of the rivals: one for each, under `.venvs/`, installed by name."""

from __future__ import annotations

import json
import subprocess
import sys
import venv
from pathlib import Path

from benchmarks.common import ROOT

HOME = ROOT / ".venvs"

#: What each environment installs: the rival pinned, the rest as the rival allows.
ENVIRONMENTS: dict[str, tuple[str, ...]] = {
    "edrep": ("EDRep==0.1.2",),
    "fastnode2vec": ("fastnode2vec==0.0.7",),
    "gensim": ("gensim==4.4.0", "scipy"),
    "implicit": ("implicit==0.7.2",),
    "pecanpy": ("pecanpy==2.0.9",),
    "pycleora": ("pycleora==3.2.1", "scipy"),
    "fastrp": ("fastrp==0.1.1", "scipy"),
    "scikit-network": ("scikit-network==0.33.5",),
    "umap": ("umap-learn==0.5.12",),
}


def python(name: str | None, home: Path = HOME) -> Path:
    """Return the interpreter of an environment; None is the one that runs the benchmark."""
    return Path(sys.executable) if name is None else home / name / "bin" / "python"


def ensure(name: str | None, home: Path = HOME) -> None:
    """Create the environment and install its packages, unless that has been done."""
    if name is None:
        return
    stamp = home / name / "installed.json"
    wanted = list(ENVIRONMENTS[name])
    if stamp.exists() and json.loads(stamp.read_text()) == wanted:
        return
    print(f"creating the environment of {name}: {' '.join(wanted)}", flush=True)
    if not python(name, home).exists():
        venv.create(home / name, with_pip=True)
    command = [str(python(name, home)), "-m", "pip", "install", "--quiet"]
    command += ["--disable-pip-version-check", *wanted]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"cannot install {' '.join(wanted)}: {done.stderr.strip()[-500:]}")
    stamp.write_text(json.dumps(wanted))


def installed(name: str | None, home: Path = HOME) -> dict[str, str]:
    """Return the versions of all packages in an environment."""
    code = (
        "import importlib.metadata as m, json; "
        "print(json.dumps({d.metadata['Name']: d.version for d in m.distributions()}))"
    )
    done = subprocess.run([str(python(name, home)), "-c", code], capture_output=True, text=True, check=True)
    skip = {"pip", "setuptools", "wheel"}
    found = json.loads(done.stdout)
    return {key: found[key] for key in sorted(found, key=str.lower) if key not in skip}
