"""Record what softvec does, and compare: bits of fits, text of commands, public names.

A refactoring changes none of these, or says so in CHANGELOG.md:

    python tools/behaviour.py record     # writes tools/behaviour.json
    python tools/behaviour.py compare    # prints what differs; exit code 1 if anything does
    python tools/behaviour.py compare --only fits    # or: texts, names, flags

Only names that users know are used. Hashes of vectors hold on one kind of machine (processor, NumPy, SciPy);
on another, record first on the older commit.
"""

from __future__ import annotations

import argparse
import difflib
import importlib
import inspect
import json
import platform
import re
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from behaviour_commands import record_texts
from behaviour_fits import record_fits

import softvec

RECORD = Path(__file__).with_name("behaviour.json")
# Modules that users may import; those in softvec.__all__ are added.
MODULES = (
    "affinity", "api", "embedding", "estimator", "kernels", "normalizers", "operators", "plotting",
)  # fmt: skip


# Public names


def signature_of(value: Any) -> str:
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return type(value).__name__
    plain = [p.replace(annotation=inspect.Parameter.empty) for p in signature.parameters.values()]
    text = str(inspect.Signature(plain))
    return re.sub(r" at 0x[0-9a-f]+", "", text)


def members(value: type) -> dict[str, str]:
    """Return the signatures of the public methods and properties of a class."""
    rows = {}
    for name, attribute in inspect.getmembers(value):
        home = next((base for base in value.__mro__ if name in vars(base)), object)
        if name.startswith("_") or not home.__module__.startswith("softvec"):
            continue
        rows[name] = signature_of(attribute) if callable(attribute) else "attribute"
    return rows


def described(value: Any) -> Any:
    if inspect.ismodule(value):
        return "module"
    if inspect.isclass(value):
        return {"class": signature_of(value), **members(value)}
    return signature_of(value) if callable(value) else type(value).__name__


def record_names() -> dict[str, Any]:
    """Return the public names of softvec and of its modules, with the signatures of what is callable."""
    record: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        public = [name for name in softvec.__all__ if inspect.ismodule(getattr(softvec, name))]
        for path in ["softvec", *(f"softvec.{name}" for name in sorted({*MODULES, *public}))]:
            try:
                module = importlib.import_module(path)
            except ImportError as error:
                record[path] = f"{type(error).__name__}: {error}"
                continue
            names = getattr(module, "__all__", [n for n in vars(module) if _defined_in(module, n)])
            record[path] = {name: described(getattr(module, name)) for name in sorted(names)}
    return record


def _defined_in(module: Any, name: str) -> bool:
    value = getattr(module, name)
    return not name.startswith("_") and getattr(value, "__module__", None) == module.__name__


# Record and compare


def snapshot(only: str | None) -> dict[str, Any]:
    result: dict[str, Any] = {"machine": machine()}
    if only in (None, "fits"):
        result["fits"] = record_fits()
    if only in (None, "texts", "flags"):
        result["texts"], result["flags"] = record_texts()
    if only in (None, "names"):
        result["names"] = record_names()
    return result


def machine() -> dict[str, str]:
    import scipy
    import sklearn

    return {
        "processor": platform.machine(), "system": platform.system(), "python": platform.python_version(),
        "numpy": np.__version__, "scipy": scipy.__version__, "scikit-learn": sklearn.__version__,
    }  # fmt: skip


def flattened(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from flattened(inner, (*path, key))
    else:
        yield path, value


def differences(old: dict[str, Any], new: dict[str, Any]) -> Iterator[str]:
    """Yield a text for each difference."""
    before, after = dict(flattened(old)), dict(flattened(new))
    for path in sorted({*before, *after}):
        was, now = before.get(path), after.get(path)
        if was == now:
            continue
        title = " / ".join(path)
        if path not in after:
            yield f"{title}: gone (was {was!r})"
        elif path not in before:
            yield f"{title}: new: {now!r}"
        elif isinstance(was, list) and isinstance(now, list):
            lines = list(difflib.unified_diff(was, now, "recorded", "now", lineterm="", n=0))[2:]
            yield "\n    ".join([f"{title}:", *(line for line in lines if not line.startswith("@@"))])
        else:
            yield f"{title}: {was!r} -> {now!r}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("action", choices=("record", "compare"))
    parser.add_argument("--only", choices=("fits", "texts", "flags", "names"))
    parser.add_argument("--file", type=Path, default=RECORD)
    arguments = parser.parse_args()
    old = json.loads(arguments.file.read_text(encoding="utf-8")) if arguments.file.exists() else {}
    new = snapshot(arguments.only)
    if arguments.action == "record":
        text = json.dumps({**old, **new}, indent=1, ensure_ascii=False)
        arguments.file.write_text(text + "\n", encoding="utf-8")
        print(f"{arguments.file}: {len(new.get('fits', {}))} fits, {len(new.get('texts', {}))} commands")
        return 0
    if old.pop("machine", None) != new.pop("machine"):
        print("recorded on another machine or with other versions: hashes of fits may differ for that reason")
    keys = [key for key in new if arguments.only in (None, key)]
    rows = list(differences({key: old.get(key, {}) for key in keys}, {key: new[key] for key in keys}))
    print("\n".join(rows) if rows else "nothing differs")
    print(f"{len(rows)} differences")
    return 1 if rows else 0


if __name__ == "__main__":
    sys.exit(main())
