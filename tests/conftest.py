"""A real browser for the tests of pages; where there is none they are skipped, and say how to get one."""

import io
import os
import shutil
import signal
from contextlib import contextmanager

import numpy as np
import pytest

FLAGS = [
    "--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run",
]  # fmt: skip
PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "chrome")


def pytest_configure(config):
    """Let workers of xdist take interrupts, which they ignore by default: some tests send them."""
    if hasattr(config, "workerinput"):
        signal.signal(signal.SIGINT, signal.default_int_handler)


def browser_program():
    """The path of a Chromium, from SOFTVEC_BROWSER or the usual names, or None."""
    given = os.environ.get("SOFTVEC_BROWSER")
    return given or next((path for path in map(shutil.which, PROGRAMS) if path), None)


@pytest.fixture(scope="session")
def browser():
    api = pytest.importorskip("playwright.sync_api", reason="no playwright: run `make browser`")
    program = browser_program()
    if program is None:
        pytest.skip("no Chromium: run `make browser`, or set SOFTVEC_BROWSER")
    with api.sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield running
        running.close()


class Opened:
    """A map in the browser, with what it asked for and complained of."""

    def __init__(self, page, requests, errors):
        self.page = page
        self.requests = requests
        self.errors = errors

    def app(self, code):
        """Run code of the page; ``app`` is the map."""
        return self.page.evaluate(f"() => {{ const app = window.runningApp; return ({code}); }}")

    def settle(self):
        """Wait until the view rests and a frame is drawn."""
        self.page.wait_for_function(
            "() => { const app = window.runningApp; return !app.moving && !app.frame && !app.view.flight; }"
        )
        self.page.evaluate("() => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 20)))")

    def place(self, item):
        """Where an item is on the screen."""
        return tuple(self.app(f"[app.screenX({item}), app.screenY({item})]"))

    def pixels(self):
        """The screen as an array of shape (height, width, 3), 0 to 255."""
        from matplotlib.image import imread

        self.settle()
        picture = imread(io.BytesIO(self.page.screenshot()), format="png")
        return np.rint(picture[..., :3] * 255).astype(int)

    def count(self, colour, tolerance=30):
        """How many pixels of the map, panels aside, have about a colour."""
        rgb = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)])
        near = np.abs(self.pixels() - rgb).max(axis=2) <= tolerance
        return int(near[:, 310:1050].sum())


@pytest.fixture
def open_map(browser, tmp_path):
    """Open maps (or HTML texts) from a file, offline, in a window of 1280 by 800 pixels."""
    contexts = []

    @contextmanager
    def opened(made, fragment="", init=None, **options):
        html = made if isinstance(made, str) else made.html
        path = tmp_path / f"map{len(contexts)}.html"
        path.write_text(html, encoding="utf-8", newline="\n")
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 800}} | options)
        contexts.append(context)
        context.set_offline(True)
        context.set_default_timeout(60_000)
        if init:
            context.add_init_script(init)
        page = context.new_page()
        requests, errors = [], []
        page.on("request", lambda request: requests.append(request.url))
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda message: message.type == "error" and errors.append(message.text))
        page.on("dialog", lambda dialog: (errors.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.goto(path.as_uri() + fragment)
        page.evaluate("async () => { window.runningApp = await window.softvecMap; }")
        found = Opened(page, requests, errors)
        found.path = path
        yield found
        assert errors == []
        assert [url.split("#")[0] for url in requests] == [path.as_uri()] * len(requests)
        context.close()

    yield opened
    for context in contexts:
        context.close()
