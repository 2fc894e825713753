"""The README and the front page promise nothing that docs/claims.md does not show."""

import re
from pathlib import Path

import pytest

from benchmarks import claims

ROOT = Path(__file__).parents[2]
CLAIMS = [*claims.MEASURED, *claims.TESTED]
SAID = [claim.says.strip(".") for claim in CLAIMS]


def text_of(page):
    return re.sub(r"\s+", " ", (ROOT / page).read_text(encoding="utf-8"))


def test_the_page_is_written_from_the_records():
    assert claims.PAGE.read_text(encoding="utf-8") == claims.page(), "run python -m benchmarks.claims"


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.says)
def test_each_claim_stands_on_its_page(claim):
    assert claim.says in text_of(claim.page)


@pytest.mark.parametrize("claim", claims.TESTED, ids=lambda claim: claim.says)
def test_what_holds_a_claim_exists(claim):
    for path in claim.tests:
        assert (ROOT / path).exists()


@pytest.mark.parametrize("page", ["README.md", "docs/index.md"])
def test_each_promise_has_a_row(page):
    promises = re.findall(r"^- \*\*(.+?)\*\*", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE)
    assert promises
    for promise in promises:
        assert promise.strip(".") in SAID, f"{page} promises {promise!r}; docs/claims.md has no row for it"


def test_each_use_has_a_row():
    listed = re.search(r"Use them for (.+?)\.", text_of("README.md"))[1]
    for use in re.split(r", | and ", listed):
        assert use in SAID
