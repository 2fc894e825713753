"""Links to other projects' pages, from short lists kept here: their inventories are not fetched.

A list is a text file: the address of the documentation, then lines of ``role name page``.
"""

import zlib
from pathlib import Path


def mapping(lists: Path, target: Path) -> dict[str, tuple[str, str]]:
    """Write an inventory for each list; return the setting of intersphinx."""
    target.mkdir(parents=True, exist_ok=True)
    result = {}
    for path in sorted(lists.glob("*.txt")):
        address, *rows = path.read_text(encoding="utf-8").split("\n")
        body = "".join(
            f"{name} py:{role} 1 {page}#$ -\n" for role, name, page in (row.split() for row in rows if row)
        )
        inventory = target / f"{path.stem}.inv"
        head = (
            "# Sphinx inventory version 2\n"
            f"# Project: {path.stem}\n# Version:\n"
            "# The remainder of this file is compressed using zlib.\n"
        )
        inventory.write_bytes(head.encode() + zlib.compress(body.encode()))
        result[path.stem] = (address, str(inventory))
    return result
