"""The picture of the map in the README: words of the Moby Thesaurus, and the neighbours of one of them.

``SOFTVEC_DATA=... python docs/figures/map.py`` writes map.png beside this file. It needs playwright and
Chromium (`make browser`), and takes a few minutes.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import numpy as np
from playwright.sync_api import sync_playwright

import softvec
from softvec.map import Map
from softvec.plotting.names import titles_of_groups

WORDS = 4000
GROUPS = 15
WORD = "dream"
FLAGS = ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]


def page_of_words() -> Map:
    """Embed the thesaurus and lay out its most connected words by t-SNE, in groups of k-means."""
    graphs = Path(os.environ["SOFTVEC_DATA"]) / "graphs"
    emb = softvec.embed(graphs / "moby.npz", names=graphs / "moby_words.txt", n_components=64, random_state=0)
    assert emb.sizes is not None
    rows = np.sort(np.argsort(-emb.sizes, kind="stable")[:WORDS])
    words = softvec.Embedding(emb.vectors[rows], emb.names.take(rows), sizes=emb.sizes[rows])
    groups = words.cluster(GROUPS, random_state=0)
    titles = titles_of_groups(words, groups, words.vectors, words.names)
    return words.map(
        [titles[group] for group in groups],
        method="tsne",
        title="Moby Thesaurus",
        communities=False,
        random_state=0,
    )


def photograph(page: Map, target: Path) -> None:
    """Open the page, look up a word, and save what is seen."""
    program = os.environ.get("SOFTVEC_BROWSER") or shutil.which("chromium")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = Path(folder) / "map.html"
        page.save(path)
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        window = browser.new_page(viewport={"width": 1120, "height": 680})
        window.goto(path.as_uri())
        window.locator("#search").fill(WORD)
        window.locator("#list button").first.click()
        window.locator("#search").press("Escape")
        window.evaluate("async () => { const app = await softvecMap; app.show([app.state.focus], 1.9); }")
        window.locator("#search").evaluate("(search) => search.blur()")
        window.wait_for_timeout(1500)
        window.screenshot(path=target)
        browser.close()


if __name__ == "__main__":
    photograph(page_of_words(), Path(__file__).with_suffix(".png"))
