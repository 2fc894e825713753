"""One page of the reference for each public module, with the names in its ``__all__``."""

import importlib
import inspect
import warnings
from pathlib import Path

import softvec

# In the order of the pages; a public module that is missing here comes last.
ORDER = ("affinity", "operators", "normalizers", "evaluate", "plotting")


def public_modules() -> list[str]:
    names = [name for name in softvec.__all__ if inspect.ismodule(getattr(softvec, name))]
    return sorted(names, key=lambda name: (ORDER.index(name) if name in ORDER else len(ORDER), name))


def write_pages(folder: Path) -> None:
    """Write ``softvec.md`` and a page for each public module; pages that are up to date are left alone."""
    folder.mkdir(parents=True, exist_ok=True)
    own = [name for name in softvec.__all__ if not name.startswith("__") and name not in public_modules()]
    _write(
        folder / "softvec.md", _page("softvec", "softvec", own, importlib.import_module("softvec").__doc__)
    )
    for name in public_modules():
        module = importlib.import_module(f"softvec.{name}")
        names = [other for other in module.__all__ if other not in own]
        _write(
            folder / f"softvec.{name}.md", _page(f"softvec.{name}", f"softvec.{name}", names, module.__doc__)
        )


def _page(title: str, module: str, names: list[str], text: str | None) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = {name: getattr(importlib.import_module(module), name) for name in sorted(names)}
    parts = [f"# {title}", "```{eval-rst}", f".. currentmodule:: {module}", "", _unindented(text), ""]
    for heading, wanted in (
        ("Classes", inspect.isclass),
        ("Functions", inspect.isroutine),
    ):
        chosen = [name for name, value in found.items() if wanted(value)]
        if chosen:
            parts += [f".. rubric:: {heading}", "", ".. autosummary::", "   :toctree: .", ""]
            parts += [f"   {name}" for name in chosen]
            parts.append("")
    constants = [
        name for name, value in found.items() if not (inspect.isclass(value) or inspect.isroutine(value))
    ]
    parts.append("```")
    if constants:
        parts += ["", "Constants: " + ", ".join(f"`{name}`" for name in constants)]
    return "\n".join(parts) + "\n"


def add_contents(app, docname, source):
    """Give the overviews of commands and inputs a table of contents; elsewhere they are plain Markdown."""
    if docname in ("commands/README", "inputs/README"):
        source[0] += "\n```{toctree}\n:hidden:\n:glob:\n\n*\n```\n"


def skip_inherited(app, what, name, obj, skip, options):
    """Leave out what comes from scikit-learn."""
    return True if (getattr(obj, "__module__", None) or "").startswith("sklearn") else None


def setup(app):
    """Connect the two."""
    app.connect("source-read", add_contents)
    app.connect("autodoc-skip-member", skip_inherited)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _unindented(text: str | None) -> str:
    return inspect.cleandoc(text or "")


def _write(path: Path, text: str) -> None:
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
