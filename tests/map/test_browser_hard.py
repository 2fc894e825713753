"""The interactive map in a real browser: hostile names, other shapes of data, phones, frames, many points."""

import numpy as np
import pytest

from softvec import Embedding
from softvec.plotting.style import PALETTE

pytest.importorskip("matplotlib")

NASTY = [
    "<script>window.hacked = 1</script>", "</script><img src=x onerror='window.hacked=1'>",
    "javascript:window.hacked=1", "\"'`${window.hacked=1}", "abc\u202egnp.exe", "a\u2066b\u200fc",
    "line\nbreak\x00\x1b[31m", "x" * 10_000_000, "\u0301" * 300, "😀👩‍👩‍👧", "{{data}}", "",
    "__proto__", "constructor",
]  # fmt: skip


def test_hostile_names_are_harmless_and_visible(open_map):
    emb = Embedding(np.random.default_rng(0).standard_normal((len(NASTY), 4)), NASTY)
    made = emb.map(
        [f"<img src=x onerror='window.hacked=1'>{name[:20]}" for name in NASTY],
        metadata={"</script><script>window.hacked=1</script>": NASTY, "__proto__": range(len(NASTY))},
        title="</title><script>window.hacked=1</script>", method="pca",
    )  # fmt: skip
    with open_map(made) as view:
        view.settle()
        view.page.locator("#browse").click()
        shown = view.page.locator("#list .name").all_inner_texts()
        assert shown[0] == NASTY[0]
        assert shown[1] == NASTY[1]
        assert shown[4] == "abc\u2039202E\u203agnp.exe"
        assert shown[5] == "a\u20392066\u203ab\u2039200F\u203ac"
        assert shown[6] == "line\u2039000A\u203abreak\u20390000\u203a\u2039001B\u203a[31m"
        assert shown[7] == "x" * 79 + "…"
        assert shown[9] == NASTY[9]
        assert shown[11] == "(no name)"
        for item in range(len(NASTY)):
            view.app(f"app.update({{ focus: {item} }})")
            view.page.mouse.move(*view.place(item))
        view.page.locator("#search").fill("<script>")
        view.page.wait_for_function("() => document.querySelector('#hits').textContent === '1 hit'")
        view.settle()
        assert view.page.evaluate("window.hacked") is None
        assert view.page.locator("img").count() == 0
        assert view.page.evaluate("document.scripts.length") == 1
        width = view.page.evaluate("document.documentElement.scrollWidth")
        assert width == 1280


def test_a_page_that_tries_to_call_home_is_stopped(open_map):
    """The policy itself holds: script that got in all the same could neither run inline nor send."""
    made = Embedding(np.eye(3)).map(method="pca")
    with open_map(made) as view:
        refused = view.page.evaluate(
            """async () => {
              const seen = [];
              document.addEventListener("securitypolicyviolation", (e) => seen.push(e.effectiveDirective));
              const script = document.createElement("script");
              script.textContent = "window.hacked = 1";
              document.body.append(script);
              const image = new Image();
              image.src = "https://example.org/x.png";
              await fetch("https://example.org/").catch(() => {});
              await new Promise((done) => setTimeout(done, 200));
              return [seen.sort(), window.hacked ?? null];
            }"""
        )
        assert refused == [["connect-src", "img-src", "script-src-elem"], None]
        view.errors.clear()  # the refusals themselves
        view.requests.clear()  # as the browser counts them: refused before they left


def test_two_sides_in_two_shapes(open_map):
    rng = np.random.default_rng(0)
    emb = Embedding(
        rng.standard_normal((20, 4)), [f"u{i}" for i in range(20)],
        context_vectors=rng.standard_normal((10, 4)), context_names=[f"v{i}" for i in range(10)],
    )  # fmt: skip
    with open_map(emb.map(method="pca", sides=("users", "things"))) as view:
        sides = view.page.locator("#sides button")
        assert [text.split("\n") for text in sides.all_inner_texts()] == [["users", "20"], ["things", "10"]]
        assert view.app("[app.scale.shape(0), app.scale.shape(25)]") == [0, 3]
        view.app("app.update({ focus: 3 })")
        headings = view.page.locator("#neighbours h3").all_inner_texts()
        assert [text.split("\n")[0] for text in headings] == ["Nearest users", "Nearest things"]
        expected = [name for name, _ in emb.most_similar("u3", among="context")]
        assert view.page.locator("#neighbours ol").nth(1).locator(".name").all_inner_texts() == expected
        view.app("app.update({ focus: -1 })")
        sides.nth(0).click()
        assert view.app("app.shown.reduce((sum, s) => sum + (s === 1), 0)") == 10


def test_time_slider(open_map):
    names = [(f"p{i}", t) for t in (0, 10, 20, 30) for i in range(6)]
    rng = np.random.default_rng(0)
    emb = Embedding(rng.standard_normal((24, 4)), names, provenance={"data": {"kind": "temporal"}})
    with open_map(emb.map(method="pca", communities=False)) as view:
        assert view.page.locator("#time-text").inner_text() == "all times"
        everything = view.pixels()
        slider = view.page.locator("#time")
        slider.focus()
        slider.press("ArrowRight")
        slider.press("ArrowRight")
        assert view.page.locator("#time-text").inner_text() == "time 20"
        shown = view.app("Array.from(app.shown).flatMap((s, i) => (s === 1 ? [app.data.names[i]] : []))")
        assert shown == [f"p{i}@20" for i in range(6)]
        assert (np.abs(view.pixels() - everything).max(axis=2) > 40)[:, 310:1050].sum() > 500
        view.page.mouse.click(*view.place(12))
        assert view.app("app.track.map((i) => app.data.names[i])") == [f"p0@{t}" for t in (0, 10, 20, 30)]
        view.page.locator("#play").click()
        view.page.wait_for_function("() => document.querySelector('#time-text').textContent === 'time 30'")
        view.page.wait_for_function("() => document.querySelector('#play').ariaPressed === 'false'")
        view.page.locator("#all-times").click()
        assert view.app("app.shown.every((s) => s === 1)")


def test_time_slider_shows_dates(open_map):
    names = [
        (f"p{i}", f"2024-03-0{day}T{hour}") for day in (1, 2) for hour in ("00:00", "09:15") for i in range(3)
    ]
    rng = np.random.default_rng(0)
    emb = Embedding(rng.standard_normal((12, 4)), names, provenance={"data": {"kind": "temporal"}})
    with open_map(emb.map(method="pca", communities=False)) as view:
        slider = view.page.locator("#time")
        slider.focus()
        slider.press("ArrowRight")
        assert view.page.locator("#time-text").inner_text() == "time 2024-03-01 09:15"
        ends = [view.page.locator(place).text_content() for place in ("#bar-low", "#bar-high")]
        assert ends == ["2024-03-01", "2024-03-02 09:15"]


def test_names_do_not_overlap_and_there_are_more_close_up(open_map):
    rng = np.random.default_rng(0)
    n = 3000
    emb = Embedding(rng.standard_normal((n, 4)), [f"thing {i}" for i in range(n)], sizes=np.arange(n, 0, -1))
    made = emb.map(coordinates=rng.standard_normal((n, 2)), communities=False, n_neighbors=0)
    with open_map(made) as view:
        view.settle()
        afar = view.app("app.overlay.names")
        boxes = view.app(
            "app.overlay.names.map((n) => { const w = app.overlay.placer.width(n.text, "
            "\"12px system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif\");"
            " const l = n.align === 'left' ? n.x : n.align === 'right' ? n.x - w : n.x - w / 2;"
            " return [l, n.y - 7, l + w, n.y + 7]; })"
        )
        assert len(afar) > 12
        assert {"thing 0", "thing 1"} & {name["text"] for name in afar}
        for i, a in enumerate(boxes):
            assert a[2] > 302 or a[1] > 160  # not below the panel
            for b in boxes[:i]:
                assert a[0] >= b[2] or b[0] >= a[2] or a[1] >= b[3] or b[1] >= a[3]
        ranks = [name["id"] for name in afar]
        view.page.mouse.move(680, 400)
        view.page.mouse.wheel(0, -900)
        view.settle()
        close = [name["id"] for name in view.app("app.overlay.names")]
        assert len(close) > len(ranks)
        assert np.median(close) > np.median(ranks)  # less important ones have their turn


def test_phone(open_map):
    emb = Embedding(np.random.default_rng(0).standard_normal((50, 3)), [f"item {i}" for i in range(50)])
    made = emb.map(method="pca", communities=False)
    options = {"has_touch": True, "is_mobile": True, "device_scale_factor": 2}
    with open_map(made, **options) as view:
        view.page.set_viewport_size({"width": 390, "height": 780})
        view.page.reload()
        view.page.evaluate("async () => { window.runningApp = await window.softvecMap; }")
        view.settle()
        assert view.page.evaluate("document.documentElement.scrollWidth") == 390
        x, y = view.place(7)
        assert 0 < x < 390
        assert 48 < y < 700
        picked = view.app(f"app.pick({x}, {y})")
        view.page.touchscreen.tap(x, y)
        assert view.page.locator("#item-name").inner_text() == f"item {picked}"
        assert view.page.locator("#neighbours li").count() == 10
        before = view.app("app.view.scale")
        session = view.page.context.new_cdp_session(view.page)
        for kind, gap in (("touchStart", 20), ("touchMove", 40), ("touchMove", 80)):
            points = [{"x": 200 - gap, "y": 200, "id": 0}, {"x": 200 + gap, "y": 200, "id": 1}]
            session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
        session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
        assert view.app("app.view.scale") == pytest.approx(4 * before, rel=0.1)


def test_in_a_notebook_the_frame_is_sandboxed_and_works(open_map):
    made = Embedding(np.eye(5), list("abcde")).map(method="pca", communities=False)
    host = f"<!DOCTYPE html><title>notebook</title><script>softvecMap = null</script>{made._repr_html_()}"
    with open_map(host) as view:
        frame = view.page.frame_locator("iframe")
        frame.locator("#browse").click()
        assert frame.locator("#list .name").all_inner_texts() == list("abcde")
        inner = view.page.frames[1]
        assert inner.evaluate("window.origin") == "null"
        assert inner.evaluate("async () => (await softvecMap).painter !== undefined")


def test_without_webgl_the_list_remains(open_map):
    made = Embedding(np.eye(5), list("abcde")).map(method="pca", communities=False)
    stub = (
        "HTMLCanvasElement.prototype.getContext = new Proxy(HTMLCanvasElement.prototype.getContext, { apply: "
        "(f, self, [kind, ...more]) => kind === 'webgl2' ? null : f.call(self, kind, ...more) })"
    )
    with open_map(made, init=stub) as view:
        assert "no WebGL2" in view.page.locator("#problem").inner_text()
        view.page.locator("#browse").click()
        view.page.locator("#list button").nth(2).click()
        assert view.page.locator("#item-name").inner_text() == "c"


def big(n, Z, **options):
    emb = Embedding(np.ones((n, 1), np.float32), sizes=np.arange(n) % 50 + 1)
    return emb.map(np.arange(n) % 5, coordinates=Z, n_neighbors=0, communities=False, **options)


def test_hover_on_100_000_points_takes_few_steps_and_finds_the_nearest(open_map):
    rng = np.random.default_rng(0)
    n = 100_000
    Z = np.concatenate([rng.standard_normal((n // 2, 2)), 0.01 * rng.standard_normal((n // 2, 2)) + 1.5])
    with open_map(big(n, Z)) as view:
        answers = view.app(
            """(() => {
              const { data, view, counters } = app;
              app.pick(0, 0);
              counters.hoverMost = 0;
              const tries = [];
              for (let t = 0; t < 400; t++) {
                const [px, py] = [310 + ((t * 7919) % 740), (t * 104729) % 800];
                const id = app.pick(px, py);
                tries.push([view.planeX(px), view.planeY(py), id]);
              }
              const radius = Math.max(9, 0) / view.scale;
              let wrong = 0;
              for (const [x, y, id] of tries.slice(0, 60)) {
                let best = radius * radius;
                for (let i = 0; i < data.n; i++) {
                  best = Math.min(best, (data.x[i] - x) ** 2 + (data.y[i] - y) ** 2);
                }
                const got = id < 0 ? radius * radius : (data.x[id] - x) ** 2 + (data.y[id] - y) ** 2;
                wrong += Math.abs(got - best) > 1e-6;
              }
              return [wrong, counters.hoverMost, tries.filter(([, , id]) => id >= 0).length];
            })()"""
        )
        wrong, steps, hits = answers
        assert wrong == 0
        assert hits > 50
        # a frame of 16 ms has room for a hundred thousand such steps; a scan of all points takes as many
        assert steps < 3000


def test_hover_where_all_points_coincide(open_map):
    with open_map(big(100_000, np.zeros((100_000, 2)))) as view:
        assert (
            view.app("[app.pick(app.screenX(0), app.screenY(0)) >= 0, app.counters.hoverMost < 3000]")
            == [True] * 2
        )


@pytest.mark.slow
def test_a_million_points_are_drawn(open_map):
    rng = np.random.default_rng(0)
    n = 1_000_000
    Z = np.array([[0, 0], [8, 0], [4, 7], [-3, 6], [11, 6]])[np.arange(n) % 5] + rng.standard_normal((n, 2))
    made = big(n, Z)
    assert len(made.html) < 20_000_000
    with open_map(made) as view:
        assert view.app("app.data.n") == n
        view.page.keyboard.press("t")
        dense = view.count(PALETTE[0], 60)
        assert dense > 2000
        view.page.mouse.move(*view.place(0))
        assert view.app("app.counters.hoverMost") < 5000
        assert view.app("app.hover") >= 0
