"""How large an installation is, by package: wheels of this source and all it needs, in an empty environment.

    python -m benchmarks.install

Writes benchmarks/results/install.json and the line in docs/start.md. Needs an index of packages.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from typing import Any

from benchmarks.common import RESULTS, ROOT, provenance, replace_section, write_json

WHY = {
    "llvmlite": "the compiler behind Numba",
    "pyarrow": "reads tables and edge lists",
    "scipy": "sparse matrices",
    "scikit-learn": "k-means and scores",
    "numpy": "arrays",
}
FOLDERS = {"scikit-learn": ("sklearn",), "scipy": ("scipy", "scipy.libs"), "numpy": ("numpy", "numpy.libs")}


def size(folder: Path) -> int:
    """Return the bytes of all files below a folder."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file() and not file.is_symlink())


def measured() -> dict[str, Any]:
    """Install into an empty environment, and return bytes in all and by package, pip itself left out."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = Path(folder) / "bin" / "python"
        site = next((Path(folder) / "lib").glob("python*/site-packages"))
        before = size(site)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-compile", ROOT], check=True)
        packages = {
            name: sum(size(site / part) for part in FOLDERS.get(name, (name,)) if (site / part).exists())
            for name in WHY
        }
        return {"total": size(site) - before, "packages": packages}


def line(result: dict[str, Any]) -> str:
    """Return the sentence of docs/start.md."""
    parts = sorted(result["packages"].items(), key=lambda item: -item[1])
    listed = ", ".join(f"{name} {count / 1e6:.0f} ({WHY[name]})" for name, count in parts)
    return (
        f"The base installation takes {result['total'] / 1e6:.0f} MB, of which, in MB: {listed} "
        "(`python -m benchmarks.install`)."
    )


def main() -> None:
    """Measure, and write the record and the page."""
    result = measured()
    write_json(RESULTS / "install.json", {**provenance(1), **result})
    replace_section(ROOT / "docs" / "start.md", "install", line(result))
    print(line(result), file=sys.stdout)


if __name__ == "__main__":
    main()
