"""The examples in docstrings run and print what they say."""

import doctest
import importlib
import pkgutil
import warnings

import pytest

import softvec

MODULES = [
    module.name
    for module in pkgutil.walk_packages(softvec.__path__, "softvec.")
    if not module.name.endswith("__main__")
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    try:
        module = importlib.import_module(name)
    except ImportError as error:
        pytest.skip(f"{name} needs {error.name}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an example may warn; what it prints is checked
        result = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
    assert result.failed == 0
