"""The interactive map in a real browser: what is drawn, and what clicks, keys and links do.

Every test also fails if the page reports an error or asks the network for anything (see conftest.py).
"""

import csv
import io
import json

import numpy as np
import pytest

from softvec import Embedding
from softvec.plotting.style import PALETTE

pytest.importorskip("matplotlib")

NAMES = ["Éléphant", "elephant seal", "=1+2", "zebra", *[f"item {i}" for i in range(4, 90)]]
GROUPS = ["left", "right", "top"]


@pytest.fixture(scope="module")
def emb():
    rng = np.random.default_rng(0)
    V = np.eye(6)[np.arange(90) % 3] + 0.2 * rng.standard_normal((90, 6))
    return Embedding(V, NAMES, sizes=np.arange(90, 0, -1))


@pytest.fixture(scope="module")
def made(emb):
    """Three groups in three places, each within a square of its own."""
    rng = np.random.default_rng(1)
    centre = np.array([[0, 0], [10, 0], [5, 8]])[np.arange(90) % 3]
    Z = centre + rng.uniform(-2, 2, (90, 2))
    return emb.map(
        [GROUPS[i % 3] for i in range(90)],
        coordinates=Z,
        metadata={"score": np.linspace(1, 5, 90), "town": ["Rome", "Oslo"] * 45},
        edges=[(NAMES[i], NAMES[i + 1]) for i in range(89)],
        title="Test map",
    )


def test_points_of_every_group_are_drawn(open_map, made):
    with open_map(made) as view:
        view.page.keyboard.press("t")  # no names
        view.page.keyboard.press("e")  # no edges
        counts = [view.count(colour) for colour in PALETTE[:3]]
        assert min(counts) > 1000
        assert view.count(PALETTE[3]) == 0
        assert view.page.title() == "Test map"
        box = view.app("[0, 1, 2].map((i) => [app.screenX(i), app.screenY(i)])")
        assert all(302 < x < 1058 and 0 < y < 800 for x, y in box)  # not below the panels


OFF = """app.overlay.names.filter((name) => name.id >= 0).map((name) => app.overlay.moved(name)).map((name) =>
    Math.hypot(name.x - app.screenX(name.id), name.y - app.screenY(name.id)) - app.radius(name.id))"""


def test_names_stay_at_their_points_when_the_window_changes(open_map, made):
    with open_map(made) as view:
        view.settle()
        assert max(view.app(OFF)) < 16
        for size in ((1000, 560), (1500, 900), (640, 900)):
            view.page.set_viewport_size(dict(zip(("width", "height"), size)))
            view.page.wait_for_function(f"() => window.runningApp.view.width === {size[0]}")
            assert max(view.app(OFF)) < 16  # also before names are placed anew
            layers = view.app(
                "[app.overlay.canvas, app.painter.canvas].map((layer) => [layer.width, layer.height])"
            )
            assert layers == [list(size)] * 2
            view.settle()
            assert max(view.app(OFF)) < 16


def test_layers_follow_the_page_without_an_event_of_the_window(open_map, made):
    with open_map(made) as view:
        view.settle()
        view.page.evaluate(
            "() => { for (const layer of document.querySelectorAll('canvas')) layer.style.height = '500px'; }"
        )
        view.page.wait_for_function("() => window.runningApp.view.height === 500")
        view.settle()
        assert max(view.app(OFF)) < 16
        assert view.app("app.painter.canvas.height") == 500


def test_no_panel_covers_a_point_of_the_whole_map(open_map, made):
    covered = """[...app.data.names.keys()].filter((id) => app.coveredBoxes().some((box) =>
        app.screenX(id) > box[0] && app.screenX(id) < box[2] && app.screenY(id) > box[1]
        && app.screenY(id) < box[3]))"""
    for width, height in ((1400, 700), (1080, 480)):
        with open_map(made, viewport={"width": width, "height": height}) as view:
            view.settle()
            assert view.app(covered) == []


def test_a_page_of_medium_width_begins_with_a_closed_legend(open_map, made):
    for width, closed in ((1080, False), (900, True)):
        with open_map(made, viewport={"width": width, "height": 480}) as view:
            assert view.page.locator("#legend.closed").count() == closed


def test_the_legend_closes_and_opens_with_the_width_of_the_window(open_map, made):
    with open_map(made, viewport={"width": 1300, "height": 700}) as view:
        for width, closed in ((800, 1), (1300, 0)):
            view.page.set_viewport_size({"width": width, "height": 700})
            view.page.wait_for_function(f"() => window.runningApp.view.width === {width}")
            assert view.page.locator("#legend.closed").count() == closed


def test_many_groups_can_be_searched(open_map):
    rng = np.random.default_rng(0)
    emb = Embedding(rng.standard_normal((120, 4)), [f"i{k}" for k in range(120)])
    labels = [f"Group {k % 40}" for k in range(120)]
    with open_map(emb.map(labels, coordinates=rng.standard_normal((120, 2)))) as view:
        assert view.page.locator("#groups li").count() == 40
        view.page.fill("#find-group", "group 3")
        assert view.page.locator("#groups li").count() == 11  # 3 and 30 to 39
        view.page.fill("#find-group", "")
        assert view.page.locator("#groups li").count() == 40


def test_names_of_many_groups_are_written_where_they_are(open_map):
    rng = np.random.default_rng(0)
    group = np.arange(600) % 60
    emb = Embedding(rng.standard_normal((600, 4)), [f"i{k}" for k in range(600)])
    Z = np.c_[group % 8, group // 8] + 0.1 * rng.standard_normal((600, 2))
    with open_map(emb.map([f"Group {g}" for g in group], coordinates=Z)) as view:
        view.settle()
        written = view.app("app.overlay.names.filter((name) => name.id < 0).map((name) => name.text)")
        assert len(written) > 30
        assert set(written) <= {f"Group {g}" for g in range(60)}


def test_hover_shows_name_and_metadata(open_map, made):
    with open_map(made) as view:
        view.settle()
        view.page.mouse.move(*view.place(0))
        tooltip = view.page.locator("#tooltip")
        assert tooltip.locator("bdi").first.inner_text() == "Éléphant"
        text = tooltip.inner_text()
        assert all(part in text for part in ("label", "left", "score", "town", "Rome"))
        view.page.mouse.move(*(np.array(view.place(3)) + 3))
        assert "zebra" in tooltip.inner_text()
        view.page.mouse.move(320, 790)
        assert not tooltip.is_visible()


def test_click_lists_the_neighbours_with_cosines_and_draws_lines(open_map, made, emb):
    with open_map(made) as view:
        view.settle()
        blue = view.count("#1668c4", 40)
        view.page.mouse.click(*view.place(0))
        assert view.count("#1668c4", 40) > blue + 200
        rows = view.page.locator("#neighbours li").all_inner_texts()
        expected = [[name, f"{cosine:.3f}"] for name, cosine in emb.most_similar("Éléphant")]
        assert [row.split("\n") for row in rows] == expected
        view.page.locator("#neighbours button").nth(1).click()
        assert view.page.locator("#item-name").inner_text() == expected[1][0]
        view.page.locator("#back").click()
        assert view.page.locator("#item-name").inner_text() == "Éléphant"
        view.page.locator("#close-item").click()
        assert not view.page.locator("#item").is_visible()


def test_search_as_you_type(open_map, made):
    with open_map(made) as view:
        search = view.page.locator("#search")
        search.fill("ÉLÉPH")
        view.page.wait_for_function("() => document.querySelector('#hits').textContent === '2 hits'")
        assert view.page.locator("#list .name").all_inner_texts() == ["Éléphant", "elephant seal"]
        assert "2 hits" in view.page.locator("#status").inner_text()
        search.fill("seal")
        view.page.wait_for_function("() => document.querySelector('#hits').textContent === '1 hit'")
        search.press("Enter")
        assert view.page.locator("#item-name").inner_text() == "elephant seal"
        search.fill("nothing like it")
        view.page.wait_for_function("() => document.querySelector('#hits').textContent === '0 hits'")
        search.press("Escape")
        assert view.app("app.hits === null && app.state.query === ''")


def test_search_finds_what_a_plain_search_finds(open_map):
    rng = np.random.default_rng(0)
    names = sorted({"".join(rng.choice(list("abÀß\né "), 6)) for _ in range(400)})
    emb = Embedding(rng.standard_normal((len(names), 2)), names)
    fold = {"À": "a", "é": "e", "\n": " "}
    plain = ["".join(fold.get(c, c) for c in name) for name in names]
    with open_map(emb.map(coordinates=emb.vectors, communities=False)) as view:
        for query in ("ab", "a", "ßa", "e a", "b"):
            found = view.app(f"(app.update({{ query: {json.dumps(query)} }}), app.hits)")
            assert sorted(found) == [i for i, name in enumerate(plain) if query in name]


def lasso(view, corners):
    view.page.keyboard.down("Shift")
    view.page.mouse.move(*corners[0])
    view.page.mouse.down()
    for corner in corners[1:]:
        view.page.mouse.move(*corner, steps=6)
    view.page.mouse.up()
    view.page.keyboard.up("Shift")
    view.settle()


def test_lasso_counts_lists_and_saves(open_map, made):
    with open_map(made, accept_downloads=True) as view:
        view.settle()
        (x, y), (right, _) = view.place(0), view.place(1)
        left, middle = min(x - 100, 330), (x + right) / 2
        lasso(view, [(left, 790), (left, y - 200), (middle, y - 200), (middle, 790)])
        inside = view.app("app.chosen")
        places = np.array(view.app("app.chosen.map((i) => [app.screenX(i), app.screenY(i)])"))
        assert len(inside) > 10
        assert (places[:, 0] < middle).all()
        assert set(inside) >= {0}
        assert view.page.locator("#area-count").inner_text() == f"{len(inside)} items selected"
        with view.page.expect_download() as waiting:
            view.page.locator("#save-names").click()
        assert waiting.value.suggested_filename == "test-map-selection.csv"
        text = waiting.value.path().read_bytes().decode("utf-8-sig")
        rows = list(csv.DictReader(io.StringIO(text)))
        assert [row["name"] for row in rows] == [NAMES[i].replace("=1", "'=1") for i in inside]
        assert {row["label"] for row in rows} == {"left"} | (
            {"top"} if any(i % 3 == 2 for i in inside) else set()
        )
        view.page.locator("#clear-area").click()
        assert view.app("app.chosen.length") == 0


def test_copy_puts_the_selection_and_the_link_on_the_clipboard(open_map, made):
    with open_map(made, permissions=["clipboard-read", "clipboard-write"]) as view:
        view.app("app.update({ area: [-9, -9, 70000, -9, 70000, 70000, -9, 70000] })")
        view.page.locator("#copy-names").click()
        view.page.wait_for_function("() => document.querySelector('#toast').textContent.startsWith('Copied')")
        assert view.page.locator("#toast").inner_text() == "Copied 90 items as CSV"
        rows = view.page.evaluate("navigator.clipboard.readText()").splitlines()
        assert rows[0] == "name,label,community,score,town,size"
        assert rows[3].split(",")[:2] == ["'=1+2", "top"]
        view.page.locator("#link").click()
        view.page.wait_for_function("() => document.querySelector('#toast').textContent.startsWith('Link')")
        link = view.page.evaluate("navigator.clipboard.readText()")
        assert link.startswith(view.path.as_uri() + "#")
        assert "a=" in link


def test_box_selects_exactly_what_lies_in_it(open_map, made):
    with open_map(made) as view:
        view.settle()
        view.page.locator("#box").click()
        everything = np.array(view.app("app.data.names.map((_, i) => [app.screenX(i), app.screenY(i)])"))
        low, high = np.quantile(everything, 0.2, axis=0), np.quantile(everything, 0.7, axis=0)
        view.page.mouse.move(*low)
        view.page.mouse.down()
        view.page.mouse.move(*high, steps=5)
        view.page.mouse.up()
        expected = np.flatnonzero(((everything > low) & (everything < high)).all(axis=1))
        assert sorted(view.app("app.chosen")) == expected.tolist()
        view.page.keyboard.press("Escape")
        assert view.app("app.state.area") is None


def test_cells_that_a_spreadsheet_would_run_become_text(open_map):
    cells = {
        "=1+2": "'=1+2", "+cmd": "'+cmd", "-2.5e3": "-2.5e3", "@a": "'@a", 'a"b,c': '"a""b,c"',
        "a\nb": '"a\nb"', " =x": "' =x", "-": "'-", "plain": "plain", "b ": '"b "',
    }  # fmt: skip
    emb = Embedding(np.eye(len(cells)), list(cells))
    with open_map(emb.map(method="pca", communities=False), accept_downloads=True) as view:
        view.app("app.update({ area: [-9, -9, 70000, -9, 70000, 70000, -9, 70000] })")
        with view.page.expect_download() as waiting:
            view.page.locator("#save-names").click()
        text = waiting.value.path().read_bytes().decode("utf-8-sig")
        assert text == "name\r\n" + "".join(f"{cell}\r\n" for cell in cells.values())


def test_legend_switches_groups_off_and_on(open_map, made):
    with open_map(made) as view:
        view.page.keyboard.press("t")
        rows = view.page.locator("#groups button")
        assert [text.split("\n") for text in rows.all_inner_texts()] == [[g, "30"] for g in GROUPS]
        before = [view.count(colour) for colour in PALETTE[:3]]
        rows.nth(0).click()
        after = [view.count(colour) for colour in PALETTE[:3]]
        assert rows.nth(0).get_attribute("aria-pressed") == "false"
        assert after[0] < 0.05 * before[0]
        assert after[1] > 0.8 * before[1]
        view.page.mouse.move(*view.place(0))
        assert view.app("app.hover") != 0
        rows.nth(1).click(modifiers=["Shift"])
        assert view.app("app.shown.reduce((sum, s) => sum + (s === 1), 0)") == 30
        view.page.locator("#all-groups").click()
        assert view.app("app.state.hidden.length") == 0


def test_colour_by_a_number_shows_a_bar(open_map, made):
    with open_map(made) as view:
        view.page.locator("#colour").select_option(label="score")
        assert view.page.locator("#bar-low").inner_text() == "1"
        assert view.page.locator("#bar-high").inner_text() == "5"
        assert not view.page.locator("#groups").is_visible()
        low, high = view.app("[app.scale.colour(0, 'light'), app.scale.colour(89, 'light')]")
        assert sum(high) > sum(low) + 200  # lighter for larger numbers
        assert view.count(PALETTE[0], 10) < 50


def test_edges_on_request(open_map, made):
    with open_map(made) as view:
        view.page.keyboard.press("t")
        on = view.pixels()
        assert view.page.locator("#edges").get_attribute("aria-pressed") == "true"
        view.page.locator("#edges").click()
        off = view.pixels()
        changed = (np.abs(on - off).max(axis=2) > 12)[:, 310:1050]
        assert changed.sum() > 2000
        assert view.app("app.painter.edgeCount") == 89


def test_link_shows_the_same(open_map, made):
    with open_map(made) as view:
        view.settle()
        view.page.locator("#colour").select_option(label="town")
        view.page.mouse.move(*view.place(7))
        view.page.mouse.wheel(0, -400)
        view.settle()
        view.page.mouse.click(*view.place(7))
        lasso(view, [(500, 300), (900, 300), (900, 700), (500, 700)])
        view.page.locator("#groups button").first.click()
        view.page.keyboard.press("d")
        view.settle()
        view.page.wait_for_function("() => location.hash.includes('theme=dark')")
        seen = "[app.state, app.chosen, [app.view.x, app.view.y, app.view.scale]]"
        state, chosen, place = view.app(seen)
        fragment = view.page.evaluate("location.hash")
    assert state["focus"] == 7
    assert chosen
    with open_map(made, fragment) as view:
        again = view.app(seen)
        assert again[:2] == [state, chosen]
        np.testing.assert_allclose(again[2], place, rtol=1e-3)


@pytest.mark.parametrize("fragment", ["#i=99999&v=a,b,c&a=zz.1&t=7&h=-3.x", "#c=nothing&s=9&q=%00", "#%%%"])
def test_a_wrong_link_shows_the_map(open_map, made, fragment):
    with open_map(made, fragment) as view:
        assert view.app("[app.state.focus, app.state.area, app.state.hidden.length]") == [-1, None, 0]
        assert view.count(PALETTE[0]) + view.count(PALETTE[1]) > 500 or "q=" in fragment


def test_dark_by_system_and_by_button(open_map, made):
    with open_map(made, color_scheme="dark") as view:
        assert view.pixels()[790, 600].max() < 40
        view.page.locator("#theme").click()
        assert view.pixels()[790, 600].min() > 240
        assert (
            view.page.evaluate("getComputedStyle(document.querySelector('#panel')).color")
            == "rgb(34, 38, 43)"
        )


def test_keyboard_alone(open_map, made):
    with open_map(made) as view:
        view.page.locator("#points").focus()
        start = view.app("[app.view.x, app.view.scale]")
        view.page.keyboard.press("ArrowRight")
        view.page.keyboard.press("+")
        view.settle()
        now = view.app("[app.view.x, app.view.scale]")
        assert now[0] > start[0]
        assert now[1] > 1.4 * start[1]
        view.page.keyboard.press("0")
        view.settle()
        assert view.app("app.view.isHome()")
        view.page.locator("#points").focus()
        view.page.keyboard.press("Enter")
        first = view.app("app.state.focus")
        assert first >= 0
        view.page.keyboard.press("n")
        assert view.app("app.state.focus") == view.app(f"app.data.nearest({first})[0].id")
        view.page.keyboard.press("Escape")
        assert view.app("app.state.focus") == -1
        view.page.keyboard.press("/")
        assert view.page.evaluate("document.activeElement.id") == "search"
        view.page.keyboard.press("Tab")
        view.page.keyboard.press("Enter")  # the list of items
        view.page.locator("#list button").first.focus()
        view.page.keyboard.press("ArrowDown")
        view.page.keyboard.press("Enter")
        assert view.page.locator("#item-name").inner_text() == "elephant seal"


def test_items_are_a_list_for_screen_readers(open_map, made):
    with open_map(made) as view:
        view.page.get_by_role("button", name="List of items").click()
        items = view.page.get_by_role("list", name="Items").get_by_role("button")
        assert items.count() == 41
        assert items.nth(0).inner_text() == "Éléphant"  # the largest
        view.page.get_by_role("button", name="Show more").click()
        assert items.count() == 81
        unnamed = view.page.evaluate(
            "[...document.querySelectorAll('button, input, select')].filter((e) => e.offsetParent &&"
            " !(e.ariaLabel || e.textContent.trim() || e.labels?.length)).length"
        )
        assert unnamed == 0
        view.page.get_by_role("button", name="Help").click()
        assert view.page.get_by_role("dialog").is_visible()
        view.page.keyboard.press("Escape")


def test_png_and_print_hold_the_picture(open_map, made):
    from matplotlib.image import imread

    with open_map(made, accept_downloads=True) as view:
        view.settle()
        with view.page.expect_download() as waiting:
            view.page.locator("#png").click()
        assert waiting.value.suggested_filename == "test-map.png"
        picture = np.rint(imread(waiting.value.path())[..., :3] * 255)
        assert picture.shape[:2] == (1600, 2560)
        colour = np.array([int(PALETTE[1][i : i + 2], 16) for i in (1, 3, 5)])
        assert (np.abs(picture - colour).max(axis=2) < 30).sum() > 4000
        assert view.count(PALETTE[1]) > 1000  # the page itself is as before
        view.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        drawn = view.page.evaluate(
            "(() => { const c = document.querySelector('#printed'); const d = c.getContext('2d')"
            ".getImageData(0, 0, c.width, c.height).data; let n = 0; for (let i = 0; i < d.length; i += 4)"
            " n += d[i] < 200; return n; })()"
        )
        assert drawn > 4000
        view.page.evaluate("window.dispatchEvent(new Event('afterprint'))")
        assert view.page.locator("#printed").count() == 0
