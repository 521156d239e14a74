"""Tests the console in a browser: console.py URL CHROMIUM FOLDER IMAGES. Controls Chromium by its DevTools protocol,
and on a fault says what is wrong and exits with 1. URL has the token. The page is compared with the pictures in IMAGES;
its current pictures are written to FOLDER, and with SELENE_BLESS=1 to IMAGES: look at them before they are stored."""

import base64
import json
import os
import re
import socket
import subprocess
import sys
import time
from urllib.parse import urlsplit

import numpy

import console_golden

SOON_S = 60.0
FLAGS = ["--headless=new", "--no-sandbox", "--no-first-run", "--disable-dev-shm-usage", "--use-angle=swiftshader",
         "--enable-unsafe-swiftshader", "--remote-debugging-port=0", "--window-size=1280,900", "--disable-background-networking"]


class Socket:
    """The part of a WebSocket client that DevTools needs."""

    def __init__(self, url):
        parts = urlsplit(url)
        self.stream = socket.create_connection((parts.hostname, parts.port), timeout=SOON_S)
        key = base64.b64encode(os.urandom(16)).decode()
        self.stream.sendall((f"GET {parts.path} HTTP/1.1\r\nHost: {parts.netloc}\r\nUpgrade: websocket\r\n"
                             f"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n").encode())
        self.bytes = b""
        while b"\r\n\r\n" not in self.bytes:
            self.bytes += self.more()
        head, self.bytes = self.bytes.split(b"\r\n\r\n", 1)
        assert b" 101 " in head.split(b"\r\n")[0], head

    def more(self):
        got = self.stream.recv(65536)
        assert got, "the browser has gone"
        return got

    def take(self, count):
        while len(self.bytes) < count:
            self.bytes += self.more()
        taken, self.bytes = self.bytes[:count], self.bytes[count:]
        return taken

    def send(self, text):
        data, mask = text.encode(), os.urandom(4)
        size = len(data)
        head = bytes([0x81, 0x80 | size]) if size < 126 else bytes([0x81, 0xFE]) + size.to_bytes(2, "big")
        assert size < 65536
        self.stream.sendall(head + mask + bytes(byte ^ mask[i % 4] for i, byte in enumerate(data)))

    def receive(self):
        text = b""
        while True:
            first, size = self.take(2)
            size &= 0x7F
            if size > 125:
                size = int.from_bytes(self.take(2 if size == 126 else 8), "big")
            text += self.take(size)
            if first & 0x80:
                return json.loads(text)


class Browser:
    """Chromium with one page."""

    def __init__(self, chromium, folder):
        command = [chromium, *FLAGS, f"--user-data-dir={folder}/profile", "about:blank"]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        self.errors, self.last, self.session = [], 0, None
        for line in self.process.stderr:
            found = re.search(r"DevTools listening on (ws://\S+)", line)
            if found:
                self.socket = Socket(found[1])
                return
        raise SystemExit("Chromium did not start")

    def call(self, method, **parameters):
        self.last += 1
        message = {"id": self.last, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        self.socket.send(json.dumps(message))
        while True:
            heard = self.socket.receive()
            self.note(heard)
            if heard.get("id") == self.last:
                assert "error" not in heard, (method, heard)
                return heard["result"]

    def note(self, heard):
        method, told = heard.get("method"), heard.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.errors.append(told["exceptionDetails"].get("exception", {}).get("description", str(told)))
        if method == "Log.entryAdded" and told["entry"]["level"] == "error":
            self.errors.append(f'{told["entry"]["text"]} {told["entry"].get("url", "")}')
        if method == "Runtime.consoleAPICalled" and told["type"] in ("error", "assert"):
            self.errors.append(str(told["args"]))

    def open(self, url, script=""):
        """Opens a page in which a given script runs before the page's own."""
        self.session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Runtime", "Log", "Page"):
            self.call(f"{domain}.enable")
        self.call("Page.addScriptToEvaluateOnNewDocument", source=script)
        self.call("Page.navigate", url=url)

    def take_files_to(self, folder):
        session, self.session = self.session, None
        self.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=folder)
        self.session = session

    def give_file(self, name, path):
        """Chooses a file in a file input, as a user does."""
        root = self.call("DOM.getDocument")["root"]["nodeId"]
        node = self.call("DOM.querySelector", nodeId=root, selector=f"#{name}")["nodeId"]
        self.call("DOM.setFileInputFiles", nodeId=node, files=[path])

    def click_at(self, x, y):
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def value(self, expression, **more):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, **more)
        assert "exceptionDetails" not in result, (expression, result)
        return result["result"].get("value")

    def until(self, what, expression):
        begun = time.monotonic()
        while True:
            value = self.value(expression)
            if value:
                return value
            if time.monotonic() - begun > SOON_S:
                raise SystemExit(f"{what}: not within {SOON_S:.0f} s; errors: {self.errors}")
            time.sleep(0.05)

    def key(self, kind, key):
        self.call("Input.dispatchKeyEvent", type=kind, key=key, code=f"Key{key.upper()}", text=key if kind == "keyDown" else "")

    def shape(self, width, height, scheme):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def picture(self):
        """The whole page as PNG, after all changes are drawn."""
        self.value("new Promise((done) => requestAnimationFrame(() => setTimeout(() => requestAnimationFrame(done), 300)))",
                   awaitPromise=True)
        width, height = self.value("[document.documentElement.scrollWidth, document.documentElement.scrollHeight]")
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
        return base64.b64decode(shot["data"])

    def boxes(self, selectors):
        """Boxes of elements of the page: left, top, width and height, px."""
        return self.value("%s.map((part) => document.querySelector(part).getBoundingClientRect())"
                          ".map(({ x, y, width, height }) => [x + scrollX, y + scrollY, width, height].map(Math.round))" % json.dumps(selectors))

    def end(self):
        self.process.kill()
        self.process.wait()


TIME = "parseFloat(document.getElementById('time')?.textContent)"
RATES = "[...document.querySelectorAll('#wheels tr')].map((row) => parseFloat(row.children[4].textContent))"
# Within a millisecond, since the slider rounds its value.
ENDED = "Number(position.max) > 1 && position.max - position.value < 1"
NUMBER = "Number(document.querySelector('.pane')?.dataset.number ?? 0)"


def click(browser, name):
    browser.value(f"document.getElementById('{name}').click()")


def watch(browser, url):
    """Without the token the page shows and controls nothing."""
    browser.open(url.split("#")[0])
    first = browser.until("a picture", NUMBER)
    browser.until("another picture", f"{NUMBER} > {first}")
    browser.until("the clock", f"{TIME} > 0")
    assert browser.value("document.getElementById('controls').hidden"), "control without the token"


def control(browser, url):
    """Keys drive while they are held; pause stops the clock."""
    browser.open(url)
    browser.until("control", "document.getElementById('controls')?.hidden === false")
    browser.until("wheels", f"{RATES}.length > 0")
    assert "token" not in browser.value("location.href"), "the token stays in the address"
    browser.value("document.getElementById('speed').value = '0.1'")
    pressed = time.monotonic()
    browser.key("keyDown", "s")
    browser.until("wheels that turn backward", f"Math.max(...{RATES}) < -0.05")
    print(f"wheels turn backward {time.monotonic() - pressed:.2f} s after the key, as the page shows them")
    browser.key("keyUp", "s")
    browser.until("wheels that stand", f"Math.max(...{RATES}.map(Math.abs)) < 0.02")
    click(browser, "pause")
    browser.until("a paused run", "document.getElementById('run').textContent === 'paused'")
    time.sleep(0.5)
    held = browser.value(TIME)
    time.sleep(1.5)
    assert browser.value(TIME) == held, "the clock goes on while the run is paused"
    click(browser, "play")
    browser.until("the clock going on", f"{TIME} > {held}")


def hands(browser):
    """A finger on the pad and a gamepad's stick drive while they are held, and while the page has the focus."""
    stands = f"Math.max(...{RATES}.map(Math.abs)) < 0.02"
    browser.call("Emulation.setTouchEmulationEnabled", enabled=True)
    browser.value("document.getElementById('pad').scrollIntoView({ block: 'center' })")
    x, y, width, height = browser.value("(({ x, y, width, height }) => [x, y, width, height])(document.getElementById('pad').getBoundingClientRect())")
    finger = [{"x": x + 0.5 * width, "y": y + 0.05 * height}]
    browser.call("Input.dispatchTouchEvent", type="touchStart", touchPoints=finger)
    browser.until("wheels that a finger turns", f"Math.max(...{RATES}) > 0.05")
    browser.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
    browser.until("wheels that stand without the finger", stands)
    browser.call("Emulation.setTouchEmulationEnabled", enabled=False)
    browser.value("navigator.getGamepads = () => [{ connected: true, axes: [0, 1] }]")
    browser.until("wheels that a stick turns backward", f"Math.min(...{RATES}) < -0.05")
    browser.value("navigator.getGamepads = () => [{ connected: true, axes: [0.05, 0] }]")
    browser.until("wheels that stand without the stick", stands)
    browser.key("keyDown", "w")
    browser.until("wheels that a key turns", f"Math.max(...{RATES}) > 0.05")
    browser.value("window.dispatchEvent(new Event('blur'))")
    browser.until("wheels that stand after the page lost the focus", stands)
    browser.key("keyUp", "w")


ROLES = {"button", "checkbox", "combobox", "slider", "spinbutton", "textbox", "image", "application"}


def reachable(browser):
    """Every control has a name for screen readers and is reachable by the Tab key."""
    browser.call("Accessibility.enable")
    nodes = browser.call("Accessibility.getFullAXTree")["nodes"]
    used = [node for node in nodes if not node.get("ignored") and node.get("role", {}).get("value", "").lower() in ROLES]
    nameless = [node["role"]["value"] for node in used if not node.get("name", {}).get("value", "").strip()]
    assert len(used) > 30 and not nameless, f"{len(used)} things to use, without a name: {nameless}"
    browser.call("Accessibility.disable")
    browser.value("scrollTo(0, 0); document.activeElement.blur()")
    reached = set()
    for _ in range(120):
        for kind in ("rawKeyDown", "keyUp"):
            browser.call("Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab", windowsVirtualKeyCode=9)
        reached.add(browser.value("document.activeElement.id"))
    wanted = {"rover", "look", "boxes", "scene", "map", "play", "pause", "pad", "halt", "click", "record", "play-file"}
    assert wanted <= reached, f"not reached by the Tab key: {wanted - reached}"


def overlay(browser):
    """Classes are overlaid on a picture, with a legend."""
    browser.value("document.querySelector('.pane select').value = '/navcam_left/image_raw';"
                  "document.querySelector('.pane select').onchange()")
    grey = ("(({ data }) => data.every((value, at) => at % 4 === 3 || Math.abs(value - data[at - at % 4]) < 24))"
            "(document.querySelector('.pane canvas').getContext('2d').getImageData(0, 0, 320, 180))")
    browser.until("a grey picture", f"{NUMBER} > 0 && {grey}")
    browser.value("document.querySelectorAll('.pane select')[1].value = '/navcam_left/segmentation/image';"
                  "document.querySelectorAll('.pane select')[1].onchange()")
    assert browser.value("document.querySelector('.pane .legend').children.length") == 4, "no legend of classes"
    browser.value("strength.value = 1; strength.oninput()")
    browser.until("classes over the picture", f"!({grey})")
    browser.value("strength.value = 0.5; strength.oninput()")


def waypoint(browser):
    """A click on the map sends the rover there; the stop button ends that."""
    browser.value("document.getElementById('click').value = 'go'; document.getElementById('map').scrollIntoView()")
    box = browser.value("(({ x, y, width, height }) => [x, y, width, height])(document.getElementById('map').getBoundingClientRect())")
    browser.click_at(box[0] + 0.8 * box[2], box[1] + 0.5 * box[3])
    browser.until("a rover on its way", "document.getElementById('driving').textContent.startsWith('going to')")
    browser.until("wheels that turn", f"Math.max(...{RATES}) > 0.05")
    click(browser, "halt")
    browser.until("wheels that stand", f"Math.max(...{RATES}.map(Math.abs)) < 0.02")


def spawn(browser):
    """A click on the map adds a rover of the configuration."""
    choice = "[...document.getElementById('click').options].find(({ text }) => text.endsWith(': sorato'))"
    browser.until("rovers to spawn", f"{choice} !== undefined")
    before = browser.value("document.getElementById('rover').options.length")
    browser.value(f"document.getElementById('click').value = {choice}.value")
    box = browser.value("(({ x, y, width, height }) => [x, y, width, height])(document.getElementById('map').getBoundingClientRect())")
    browser.click_at(box[0] + 0.5 * box[2], box[1] + 0.15 * box[3])
    browser.until("another rover", f"document.getElementById('rover').options.length > {before}")
    assert browser.value("document.getElementById('outcome').textContent.startsWith('spawn: sorato')")


def scenario(browser):
    """When the run loads another scenario, the page follows by itself, keeps control and shows its pictures."""
    choice = "[...document.getElementById('scenario').options].find(({ text }) => text === 'ex1')"
    browser.until("scenarios to switch to", f"{choice} !== undefined")
    browser.value(f"document.getElementById('scenario').value = {choice}.value; window.confirm = () => true")
    click(browser, "load")
    browser.until("the other scenario", "document.getElementById('scenario-now').textContent === 'now: ex1'")
    browser.until("control of it", "!document.getElementById('controls').hidden")
    topics = "[...document.querySelector('.pane select').options].map(({ value }) => value)"
    browser.until("its cameras alone", f"{topics}.length > 0 && {topics}.every((topic) => !topic.includes('navcam'))")
    browser.until("a picture of it", "document.querySelector('.pane canvas').width > 0")


REHEARSAL = """(async () => {
  const { Link } = await import("/link.js"), link = new Link(), came = [];
  const begun = performance.now(), at = (what) => came.push([what, performance.now() - begun]);
  link.down(1000, () => at("open"), () => at("free"));
  if (came.map(([what]) => what).join() !== "open,free") return "a link that is switched off holds back";
  came.length = 0;
  Object.assign(link, { bitsPerSecond: 80_000, delayMs: 200 });
  for (const name of ["one", "two"]) link.down(2000, () => at(name), () => at(`after ${name}`));
  await new Promise((done) => setTimeout(done, 900));
  const names = came.map(([what]) => what).join();
  if (names !== "after one,one,after two,two" && names !== "after one,after two,one,two") return names;
  const of = (name) => came.find(([what]) => what === name)[1];
  if (of("after one") < 195 || of("one") < 395 || of("two") < 595) return `too early: ${JSON.stringify(came)}`;
  came.length = 0;
  Object.assign(link, { bitsPerSecond: Infinity, delayMs: 0, loss: 1 });
  link.down(1000, () => at("lost"), () => at("next"));
  link.up(() => at("lost"));
  return came.map(([what]) => what).join() === "next" && link.lost === 2 ? "" : "what is lost comes";
})()"""


def rehearsal(browser):
    """A link with low data rate, delay or loss holds back and loses as much as its settings say."""
    wrong = browser.value(REHEARSAL, awaitPromise=True)
    assert wrong == "", wrong


def session(browser, folder):
    """A session is recorded, saved and played back; afterwards the page shows the run again."""
    browser.take_files_to(folder)
    click(browser, "record")
    begun = browser.value(TIME)
    browser.until("some seconds", f"{TIME} > {begun} + 1")
    ended = browser.value(TIME)
    click(browser, "record")
    begun_waiting = time.monotonic()
    while not (files := [name for name in os.listdir(folder) if name.endswith(".session")]):
        assert time.monotonic() - begun_waiting < SOON_S, "no session was saved"
        time.sleep(0.05)
    browser.give_file("play-file", os.path.join(folder, files[0]))
    browser.until("the player", "!document.getElementById('player').hidden")
    assert browser.value("document.getElementById('controls').hidden"), "control while a session is played back"
    browser.until("the session's clock", f"{TIME} >= {begun} && {TIME} < {ended}")
    browser.until("the session's end", ENDED)
    assert begun <= browser.value(TIME) <= ended + 1, "another clock than the session's"
    click(browser, "back")
    browser.until("the run", f"{TIME} > {ended} + 0.5")
    browser.until("control again", "!document.getElementById('controls').hidden")
    broken = os.path.join(folder, "broken.session")
    with open(broken, "wb") as file:
        file.write(b"selene console session 1\n" + b"\0" * 5)
    browser.give_file("play-file", broken)
    browser.until("a refusal", "document.getElementById('session-note').textContent.includes('ends within message 1')")


def shapes(browser, folder, images):
    """The page of a made-up session looks as before: narrow and wide, light and dark."""
    made_up = os.path.join(folder, "made_up.session")
    with open(made_up, "wb") as file:
        file.write(console_golden.session())
    browser.value("document.getElementById('span').value = 'near'; document.activeElement.blur()")
    browser.give_file("play-file", made_up)
    browser.until("the made-up session's end", "document.getElementById('session-note').textContent === '0.3 of 0.3 s'")
    browser.value("document.querySelectorAll('.pane select')[0].value = '/cam/image_raw';"
                  "document.querySelectorAll('.pane select')[0].onchange(); document.getElementById('boxes').checked = true")
    click(browser, "hold")
    # Plays the session again, for the pictures that were chosen in the meantime.
    browser.value(REPLAY)
    grounds, wrong = set(), []
    for width, height, scheme in console_golden.SHAPES:
        browser.shape(width, height, scheme)
        browser.value("scrollTo(0, 0)")
        wide = browser.value("document.documentElement.scrollWidth")
        assert wide <= width, f"the page is {wide} px wide on a screen of {width}"
        grounds.add((scheme, browser.value("getComputedStyle(document.body).backgroundColor")))
        page = browser.picture()
        sheet = console_golden.sheet(page, browser.boxes(console_golden.PARTS))
        wrong += console_golden.compare(f"console_{width}_{scheme}", sheet, folder, images)
    assert len(grounds) == 2, f"light and dark look the same, or differ with width: {grounds}"
    assert not wrong, "; ".join(wrong)


# The last drawing can be read only until the browser composes the page; later it is black, which the sky never is.
DRAWN = """new Promise((done) => setTimeout(() => {
  const small = new OffscreenCanvas(80, 60).getContext("2d", { willReadFrequently: true });
  const look = () => {
    small.drawImage(scene, 0, 0, 80, 60);
    const { data } = small.getImageData(0, 0, 80, 60);
    if (data.some((value, at) => at % 4 < 3 && value)) done([...data]);
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}, 150))"""


def drawn(browser):
    """The current drawing of the view in three dimensions, scaled down."""
    return numpy.array(browser.value(DRAWN, awaitPromise=True))


# Mean change of the view, of 255: at least after an input, and at most after the opposite input.
CHANGED = 2.0
SAME = 0.5


def press(browser, key, times=3):
    for _ in range(times):
        for kind in ("rawKeyDown", "keyUp"):
            browser.call("Input.dispatchKeyEvent", type=kind, key=key, code=key)


def drag(browser, x, y, by):
    browser.call("Input.dispatchMouseEvent", type="mousePressed", x=x, y=y, button="left", clickCount=1)
    browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=x + by, y=y, button="left", buttons=1)
    browser.call("Input.dispatchMouseEvent", type="mouseReleased", x=x + by, y=y, button="left", clickCount=1)


def wheel(browser, x, y, by):
    browser.call("Input.dispatchMouseEvent", type="mouseWheel", x=x, y=y, deltaX=0, deltaY=by)


def pinch(browser, x, y, begun, ended):
    """Two fingers move from one distance from the middle to another, px."""
    fingers = lambda apart: [{"x": x - apart, "y": y, "id": 0}, {"x": x + apart, "y": y, "id": 1}]
    browser.call("Emulation.setTouchEmulationEnabled", enabled=True, maxTouchPoints=2)
    for kind, apart in [("touchStart", begun), ("touchMove", ended)]:
        browser.call("Input.dispatchTouchEvent", type=kind, touchPoints=fingers(apart))
    browser.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
    browser.call("Emulation.setTouchEmulationEnabled", enabled=False)


REPLAY = "position.value = 0; position.oninput(); position.value = position.max; position.oninput()"

LOST = """(async () => {
  const context = scene.getContext("webgl2").getExtension("WEBGL_lose_context");
  const heard = (what) => new Promise((done) => scene.addEventListener(what, done, { once: true }));
  const lost = heard("webglcontextlost"), restored = heard("webglcontextrestored");
  context.loseContext();
  await lost;
  setTimeout(() => context.restoreContext(), 100);
  await restored;
})()"""


def view(browser):
    """Keys, mouse, wheel and fingers turn and zoom the view in three dimensions, and back; points can be shown
    and hidden; a lost graphics context is restored. Uses the made-up session, in which nothing else moves."""
    browser.shape(360, 780, "light")
    browser.value("scene.scrollIntoView({ block: 'center' }); scene.focus()")
    x, y = browser.value("(({ x, y, width, height }) => [x + width / 2, y + height / 2])(scene.getBoundingClientRect())")
    first = drawn(browser)
    change = lambda: numpy.abs(drawn(browser) - first).mean()
    for what, there, back in [
        ("arrow keys", lambda: press(browser, "ArrowLeft"), lambda: press(browser, "ArrowRight")),
        ("plus and minus", lambda: press(browser, "+"), lambda: press(browser, "-")),
        ("the mouse", lambda: drag(browser, x, y, 40), lambda: drag(browser, x, y, -40)),
        ("the wheel", lambda: wheel(browser, x, y, -300), lambda: wheel(browser, x, y, 300)),
        ("two fingers", lambda: pinch(browser, x, y, 20, 30), lambda: pinch(browser, x, y, 30, 20)),
        ("points", lambda: browser.value(f"cloud.value = '/lidar/points'; {REPLAY}"),
         lambda: browser.value("cloud.value = ''; cloud.onchange()")),
    ]:
        there()
        changed = change()
        back()
        left = change()
        print(f"{what}: the view changes by {changed:.1f}, and {left:.2f} is left of it")
        assert changed > CHANGED and left < SAME, what
    browser.value(LOST, awaitPromise=True)
    assert change() < SAME, "another view than before the context was lost"


NO_WEBGL = """const ask = HTMLCanvasElement.prototype.getContext;
HTMLCanvasElement.prototype.getContext = function (kind, ...more) { return kind === "webgl2" ? null : ask.call(this, kind, ...more); };"""


def without_webgl(browser, url):
    """In a browser that cannot draw the view, the page says so and shows everything else."""
    browser.open(url.split("#")[0], NO_WEBGL)
    browser.until("a picture", NUMBER)
    assert "no WebGL 2" in browser.value("document.getElementById('scene-note').textContent")
    browser.until("the clock", f"{TIME} > 0")


def main():
    url, chromium, folder, images = sys.argv[1:]
    browser = Browser(chromium, folder)
    try:
        watch(browser, url)
        control(browser, url)
        reachable(browser)
        hands(browser)
        overlay(browser)
        waypoint(browser)
        rehearsal(browser)
        session(browser, folder)
        spawn(browser)
        scenario(browser)
        shapes(browser, folder, images)
        view(browser)
        without_webgl(browser, url)
    finally:
        browser.end()
    if browser.errors:
        raise SystemExit("errors in the browser's console: " + "; ".join(browser.errors))
    print("the page is as it should be")


main()
