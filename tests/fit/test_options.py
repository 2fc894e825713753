"""Options are typed for editors, and names of other libraries are understood."""

import inspect
from typing import get_args

import pytest

import softvec
from softvec import InputError
from softvec.affinity import KINDS
from softvec.api import embed
from softvec.request import FIT_OPTIONS, DataOptions, EmbedOptions, FitOptions, KindName

EDGES = [("a", "b"), ("b", "c"), ("c", "a")]


def test_kinds_are_a_literal():
    assert get_args(KindName) == tuple(KINDS)


def test_every_option_of_a_builder_or_reader_is_typed():
    from softvec.read.table import TABLE_OPTIONS

    own = set(inspect.signature(embed).parameters)
    names = {name for kind in KINDS.values() for name in kind.options}
    names |= set(TABLE_OPTIONS) | {"format", "variable", "pattern", "signed"}
    assert set(DataOptions.__annotations__) == names - own


def test_every_option_of_a_fit_is_typed():
    own = set(inspect.signature(embed).parameters)
    assert set(FitOptions.__annotations__) == set(FIT_OPTIONS) - own
    assert set(EmbedOptions.__annotations__) == set(FitOptions.__annotations__) | set(
        DataOptions.__annotations__
    )


@pytest.mark.parametrize(
    ("wrong", "right"),
    [("dim", "n_components"), ("vector_size", "n_components"), ("seed", "random_state"),
     ("epochs", "n_epochs"), ("lr", "learning_rate"), ("workers", "n_jobs")],
)  # fmt: skip
def test_names_of_other_libraries(wrong, right):
    with pytest.raises(InputError, match=f"did you mean '{right}'"):
        softvec.embed(EDGES, **{wrong: 4})


def test_every_parameter_of_the_estimator_is_typed():
    from softvec.estimator import EDRep, EstimatorOptions

    names = set(inspect.signature(EDRep).parameters)
    assert set(EstimatorOptions.__annotations__) == names - {"n_components"}
