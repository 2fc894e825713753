"""The Python code on the pages of the documentation."""

import re

BLOCK = re.compile(r"^(?:<!-- needs: (\w+) -->\n)?```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


def python_blocks(page):
    """Return the code that runs anywhere; marked blocks need a package and run in test_database_pages."""
    return [code for package, code in BLOCK.findall(page.read_text(encoding="utf-8")) if not package]


def marked_blocks(page):
    """Return the code that needs a package, by the package."""
    return {package: code for package, code in BLOCK.findall(page.read_text(encoding="utf-8")) if package}
