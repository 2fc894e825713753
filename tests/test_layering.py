"""A module imports only from those before it in this list; kernels import nothing of softvec."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "softvec"
ORDER = [
    ["_version", "core"],
    ["kernels"],
    ["names"],
    ["operators"],
    ["read"],
    ["affinity"],
    ["normalizers"],
    ["fit"],
    ["estimator"],
    ["plotting"],
    ["map"],
    ["embedding"],
    ["generators"],
    ["evaluate"],
    ["datasets"],
    ["api"],
    ["cli"],
    ["_moved"],
    ["__init__", "__main__", "io", "tasks", "labels", "errors", "memory", "optimize"],
]
RANK = {name: rank for rank, names in enumerate(ORDER) for name in names}
FILES = sorted(path for path in SOURCE.rglob("*.py"))


def part(path):
    """The name under softvec that a file belongs to."""
    return path.relative_to(SOURCE).with_suffix("").parts[0]


def only_for_types(node):
    return isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")


def walk(node):
    """Yield all nodes of a file but those that only a type checker sees."""
    yield node
    for child in ast.iter_child_nodes(node):
        if not only_for_types(child):
            yield from walk(child)


def imported(path):
    """Yield the parts of softvec that a file imports, wherever in the file."""
    for node in walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import; write it in full"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            pieces = name.split(".")
            if pieces[0] == "softvec" and len(pieces) > 1:
                yield pieces[1] if pieces[1] in RANK else "__init__"
            assert pieces[0] not in ("experiments", "benchmarks", "tests"), f"{path} imports {name}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_go_one_way(path):
    own = part(path)
    assert own in RANK, f"{own} has no place in the order; give it one"
    for other in imported(path):
        if own == "kernels":
            assert other == "kernels", f"{path}: kernels import nothing of softvec, not {other}"
        elif other != own:
            assert RANK[other] < RANK[own], f"{path} imports softvec.{other}, which comes after it"
