"""A page in a headless Chromium, driven over its DevTools protocol."""

import asyncio
import base64
import shutil
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

import aiohttp

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None
)
_OPTIONS = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--remote-debugging-port=0")

# Texts of a report, for `Page.contrasts`.
LEGENDS = ".js-plotly-plot .legend text"
POINTS = ".js-plotly-plot .textpoint text"
AXES = ".js-plotly-plot .gtitle, .js-plotly-plot .xtick text, .js-plotly-plot .xtitle"
_PLACES = ("p", "li", "h2", "h3", "td", "th", "abbr", ".airrvec-doubt", ".text-muted")
WORDS = ", ".join([".side-nav a", *(f".mainpage {place}" for place in _PLACES)])

_CONTRASTS = """
(selector, property) => {
    const channels = text => text.match(/[\\d.]+/g).map(Number);
    const light = rgb => {
        const [r, g, b] = rgb.slice(0, 3).map(v => v / 255)
            .map(v => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
        return .2126 * r + .7152 * g + .0722 * b;
    };
    const behind = element => {
        for (let e = element; e; e = e.parentElement) {
            const colour = channels(getComputedStyle(e).backgroundColor);
            if (colour.length === 3 || colour[3] === 1) return colour;
        }
        return [255, 255, 255];
    };
    return [...document.querySelectorAll(selector)]
        .filter(e => e.getClientRects().length && e.textContent.trim())
        .map(e => {
            const [a, b] = [light(channels(getComputedStyle(e)[property])), light(behind(e))];
            return [(Math.max(a, b) + .05) / (Math.min(a, b) + .05), e.textContent.trim().slice(0, 40)];
        });
}
"""


class Page:
    """An open page: scripts, real clicks and keys, screenshots."""

    def __init__(self, loop, socket):
        self._loop, self._socket, self._last = loop, socket, 0
        self.errors = []  # what the console shows as errors since the last page was opened

    def call(self, method: str, **params):
        return self._loop.run_until_complete(self._call(method, params))

    async def _call(self, method, params):
        self._last += 1
        await self._socket.send_json({"id": self._last, "method": method, "params": params})
        while True:
            answer = await self._socket.receive_json(timeout=120)
            self._listen(answer)
            if answer.get("id") == self._last:
                assert "error" not in answer, answer
                return answer["result"]

    def _listen(self, event):
        params = event.get("params", {})
        if event.get("method") == "Runtime.exceptionThrown":
            self.errors.append(params["exceptionDetails"])
        elif event.get("method") == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.errors.append(params["entry"])
        elif event.get("method") == "Runtime.consoleAPICalled" and params["type"] in ("error", "assert"):
            self.errors.append(params["args"])

    def value(self, expression: str):
        """What a script's expression, or its promise, comes to."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def open(self, address: str, width: int = 1280, height: int = 900):
        self.call(
            "Emulation.setDeviceMetricsOverride",
            **{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False},
        )
        self.call("Emulation.setScrollbarsHidden", hidden=True)
        # As if the window were in front: without it no element has :focus until something is clicked.
        self.call("Emulation.setFocusEmulationEnabled", enabled=True)
        for domain in ("Runtime", "Log"):
            self.call(f"{domain}.enable")
        self.call("Page.navigate", url="about:blank")
        self.errors.clear()
        self.call("Page.navigate", url=address)
        deadline = time.monotonic() + 120
        while self.value("document.readyState + location.protocol") != "completefile:":
            assert time.monotonic() < deadline
            time.sleep(0.1)
        self.settle()

    def prefer(self, theme: str):
        """Prefer the ``light`` or ``dark`` theme, as a user's system does."""
        features = [{"name": "prefers-color-scheme", "value": theme}]
        self.call("Emulation.setEmulatedMedia", features=features)

    def settle(self):
        """Wait until what was asked for has been drawn."""
        self.value("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def rest(self):
        """Wait until the page has neither grown nor scrolled in ten looks, a tenth of a second apart."""
        self._wait_for_same("[document.documentElement.scrollHeight, scrollY]", looks=10)

    def _wait_for_same(self, expression: str, *, looks: int):
        """Return an expression's value once it is true and has been the same so many times."""
        last, same = None, 0
        deadline = time.monotonic() + 120
        # Looks are counted, not seconds: a page that draws for long answers once in that time.
        while same < looks:
            assert time.monotonic() < deadline, (expression, last)
            now = self.value(expression)
            same = same + 1 if now and now == last else 0
            last = now
            time.sleep(0.1)
        return last

    def contrasts(self, selector: str, colour: str) -> list:
        """
        Contrast of each visible text and what is behind it (WCAG 2, from 1 to 21), and the text's beginning.

        ``colour``: the style that colours it, ``color`` or, in figures, ``fill``.
        """
        return self.value(f"({_CONTRASTS})({selector!r}, {colour!r})")

    def click(self, selector: str):
        """Press and release the mouse in the middle of an element, once it stays there uncovered."""
        x, y = self._wait_for_same(
            f"(() => {{ const e = document.querySelector({selector!r});"
            " e.scrollIntoView({block: 'center', behavior: 'instant'}); const b = e.getClientRects()[0];"
            " const [x, y] = [b.x + b.width / 2, b.y + b.height / 2];"
            " return e.contains(document.elementFromPoint(x, y)) ? [x, y] : null; })()",
            looks=2,
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
        self.settle()

    def type(self, selector: str, text: str):
        self.click(selector)
        self.call("Input.insertText", text=text)
        self.settle()

    def move(self, x: float, y: float):
        """Move the mouse there, and on by a pixel."""
        for step in (0, 1):
            self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x + step, y=y)
        self.settle()

    def screenshot(self, path: Path, *, whole: bool = True):
        """The whole page, or what the window shows."""
        answer = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(answer["data"]))

    def picture(self, **box: float) -> bytes:
        """Return a part of the page as PNG: ``x``, ``y``, ``width`` and ``height`` in pixels."""
        clip = {**box, "scale": 1}
        answer = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
        return base64.b64decode(answer["data"])


@contextmanager
def opened(folder: Path):
    """A browser with one page, its profile in ``folder``."""
    command = [CHROMIUM, *_OPTIONS, f"--user-data-dir={folder / 'profile'}", "about:blank"]
    browser = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    loop = asyncio.new_event_loop()
    try:
        line = next(line for line in browser.stderr if "DevTools listening on" in line)
        host = line.split("ws://")[1].split("/")[0]
        session, socket = loop.run_until_complete(_connected(host))
        yield Page(loop, socket)
        loop.run_until_complete(session.close())
    finally:
        browser.terminate()
        browser.communicate(timeout=60)
        loop.close()


async def _connected(host: str):
    session = aiohttp.ClientSession()
    async with session.get(f"http://{host}/json") as answer:
        targets = await answer.json(content_type=None)
    page = next(target for target in targets if target["type"] == "page")
    return session, await session.ws_connect(page["webSocketDebuggerUrl"], max_msg_size=0)
