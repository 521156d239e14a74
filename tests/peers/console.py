"""Tests the console in a browser: console.py URL CHROMIUM FOLDER IMAGES. Controls Chromium by its DevTools protocol,
and on a fault says what is wrong and exits with 1. URL has the token. The page is compared with the pictures in IMAGES;
its current pictures are written to FOLDER, and with SELENE_BLESS=1 to IMAGES: look at them before they are stored."""

import base64
import json
import math
import os
import re
import socket
import struct
import subprocess
import sys
import time
from contextlib import closing
from urllib.parse import urlsplit

import cv2
import numpy

import console_golden

SOON_S = 60.0
FLAGS = ["--headless=new", "--no-sandbox", "--no-first-run", "--disable-dev-shm-usage", "--use-angle=swiftshader",
         "--enable-unsafe-swiftshader", "--remote-debugging-port=0", "--window-size=1280,900", "--disable-background-networking"]


class Socket:
    """The part of a WebSocket client that DevTools and the console need."""

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
        assert got, "the other side has gone"
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
        """The next message, a text or bytes."""
        data, kind = b"", 0
        while True:
            first, size = self.take(2)
            kind, size = kind or first & 0x0F, size & 0x7F
            if size > 125:
                size = int.from_bytes(self.take(2 if size == 126 else 8), "big")
            data += self.take(size)
            if first & 0x80:
                return data.decode() if kind == 1 else data

    def close(self):
        self.stream.close()


class Client(Socket):
    """A client of the console beside the page, which no simulated link delays."""

    def __init__(self, url):
        super().__init__(f"{url.split('#')[0].rstrip('/')}/socket")

    def ask(self, do, **more):
        """The answer to a question; bytes in it are its `payload`."""
        self.send(json.dumps({"do": do, **more}))
        data = self.receive()
        if isinstance(data, str):
            answer = json.loads(data)
        else:
            (size,) = struct.unpack_from("<I", data)
            answer = {**json.loads(data[4:4 + size]), "payload": data[4 + size:]}
        assert answer["is"] == do, answer
        return answer

    def until(self, what, holds):
        """The first state of the run that is as it should be."""
        begun, state = time.monotonic(), {"number": 0}
        while True:
            state = self.ask("state", after=state["number"])
            if holds(state):
                return state
            if time.monotonic() - begun > SOON_S:
                raise SystemExit(f"{what}: not within {SOON_S:.0f} s; the state is {state}")


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
            heard = json.loads(self.socket.receive())
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
                told = self.value("document.getElementById('outcome')?.textContent")
                raise SystemExit(f"{what}: not within {SOON_S:.0f} s; the page says {told!r}; errors: {self.errors}")
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


def choose(browser, name, value):
    """Sets a choice or a slider, as a user does."""
    taken = browser.value("((part, value) => { part.value = value; part.dispatchEvent(new Event('change')); return part.value; })"
                          f"(document.getElementById('{name}'), {json.dumps(value)})")
    assert taken == value, f"{name} is {taken} and not {value}"


def answered(browser, text):
    """Waits until the page shows an answer that begins with a text; returns all of it, and takes it off the page."""
    browser.until(f"the answer {text!r}", f"document.getElementById('outcome').textContent.startsWith({json.dumps(text)})")
    return browser.value("((part) => { const text = part.textContent; part.textContent = ''; return text; })(document.getElementById('outcome'))")


def middle(browser, name):
    """Middle of an element of the page on the screen, after it is scrolled there, px."""
    return browser.value("((part) => { part.scrollIntoView({ block: 'center' }); const { x, y, width, height } = part.getBoundingClientRect();"
                         f" return [x + width / 2, y + height / 2]; }})(document.getElementById('{name}'))")


PIXELS_PER_METRE = 20


def click_on_map(browser, client, action, place):
    """Clicks a place in `map` on the map, whose middle is the rover."""
    choose(browser, "click", action)
    x, y = middle(browser, "map")
    east, north = [PIXELS_PER_METRE * (to - at) for to, at in zip(place, rover_of(client.ask("state", after=0))["at_m"])]
    browser.click_at(x + east, y - north)


def rover_of(state):
    return state["rovers"][0]


def ahead(rover, distance_m):
    """A place in front of a rover."""
    yaw = math.radians(rover["roll_pitch_yaw_deg"][2])
    return [rover["at_m"][0] + distance_m * math.cos(yaw), rover["at_m"][1] + distance_m * math.sin(yaw)]


def turns(state):
    return max(abs(wheel["rate_rad_s"]) for wheel in rover_of(state)["wheels"]) > 0.05


def stands(state):
    return max(abs(wheel["rate_rad_s"]) for wheel in rover_of(state)["wheels"]) < 0.02


def watch(browser, url):
    """Without the token the page shows and controls nothing."""
    browser.open(url.split("#")[0])
    first = browser.until("a picture", NUMBER)
    browser.until("another picture", f"{NUMBER} > {first}")
    browser.until("the clock", f"{TIME} > 0")
    assert browser.value("document.getElementById('controls').hidden"), "control without the token"


# Keeps what the page gives to the view in three dimensions, by the name of the method.
GIVEN = """import("/scene.js").then(({ Scene }) => {
  window.given = {};
  for (const name of ["setGround", "setRocks", "setPoints", "setLines"]) {
    const own = Scene.prototype[name];
    Scene.prototype[name] = function (...all) { given[name] = all; return own.apply(this, all); };
  }
})"""


def control(browser, url):
    """Keys drive while they are held; pause stops the clock."""
    browser.open(url, GIVEN)
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
    lay = lambda topic: browser.value(f"((part) => {{ part.value = '{topic}'; part.onchange(); }})(document.querySelectorAll('.pane select')[1])")
    lay("/navcam_left/depth/image_rect_raw")
    assert browser.value("document.querySelector('.pane .legend').textContent") == "nearfar", "no legend of distances"
    browser.until("distances over the picture", f"!({grey})")
    lay("")
    browser.until("the picture alone", grey)
    browser.value("strength.value = 0.5; strength.oninput()")


# Number of the pixels of the first picture that have the colour of boxes.
BOXED = """(({ data }) => { let count = 0;
  for (let at = 0; at < data.length; at += 4) count += data[at] > 200 && data[at] - data[at + 2] > 120;
  return count;
})(((canvas) => canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height))(document.querySelector(".pane canvas")))"""


def boxes(browser, url):
    """Boxes of what a camera sees are drawn over its picture while they are asked for."""
    with closing(Client(url)) as client:
        seen = client.ask("boxes", topic="/navcam_left/detections", after=0)["boxes"]
    assert any(what == "rock" for what, _, _ in seen), f"no rock in {seen}"
    for what, (x, y), (width, height) in seen:
        is_inside = width / 2 <= x + 1 and x + width / 2 <= 641 and height / 2 <= y + 1 and y + height / 2 <= 361
        assert is_inside and what in ("rock", "rover", "object"), (what, x, y, width, height)
    assert browser.value(BOXED) == 0, "boxes that nobody asked for"
    click(browser, "boxes")
    browser.until("boxes over the picture", f"{BOXED} > 200")
    click(browser, "boxes")
    browser.until("the picture without boxes", f"{BOXED} === 0")


def waypoint(browser):
    """A click on the map sends the rover there; the stop button ends that."""
    browser.value("document.getElementById('click').value = 'go'; document.getElementById('map').scrollIntoView()")
    box = browser.value("(({ x, y, width, height }) => [x, y, width, height])(document.getElementById('map').getBoundingClientRect())")
    browser.click_at(box[0] + 0.8 * box[2], box[1] + 0.5 * box[3])
    browser.until("a rover on its way", "document.getElementById('driving').textContent.startsWith('going to')")
    browser.until("wheels that turn", f"Math.max(...{RATES}) > 0.05")
    click(browser, "halt")
    browser.until("wheels that stand", f"Math.max(...{RATES}.map(Math.abs)) < 0.02")


def heights_at(ground, x, y):
    """Heights of a map of the ground at places in `map`, m; NaN beyond its edges."""
    rows, columns = ground["cells"]
    step, (east, north) = ground["resolution_m"], ground["middle_m"]
    heights = numpy.frombuffer(ground["payload"], "<f4").reshape(columns, rows)
    row, column = (rows - 1) / 2 - (x - east) / step, (columns - 1) / 2 - (y - north) / step
    return cv2.remap(heights, row.astype("f4"), column.astype("f4"), cv2.INTER_LINEAR, borderValue=math.nan)


def lowered_m(before, after, rover, aside_m):
    """How much lower the ground is than before in a strip along a rover's way, between two distances to its left, m."""
    along, left = numpy.meshgrid(numpy.arange(-1, 2.5, GRID_M), numpy.arange(*aside_m, GRID_M))
    turned = (along + 1j * left) * numpy.exp(1j * math.radians(rover["roll_pitch_yaw_deg"][2])) + complex(*rover["at_m"][:2])
    return heights_at(before, turned.real, turned.imag) - heights_at(after, turned.real, turned.imag)


def near(client, after=0):
    return client.ask("ground", rover="", span="near", after=after)


# Least depth of a rut, and distance between the places at which it is sought, m.
RUT_M = 0.006
GRID_M = 0.02


def route(browser, url):
    """Clicks on the map make a route, which the rover drives to its end; its wheels leave ruts."""
    with closing(Client(url)) as client:
        state = client.until("a rover that stands", stands)
        before, begun = near(client), rover_of(state)
        stops = [ahead(begun, 0.6), ahead(begun, 1.4)]
        choose(browser, "speed", "0.2")
        for stop in stops:
            click_on_map(browser, client, "route", stop)
        browser.until("a route of two places", "document.getElementById('driving').textContent.endsWith(', then 1 more')")
        answered(browser, "arrived at x")
        browser.until("the way to the second place", "!document.getElementById('driving').textContent.includes('more')")
        answered(browser, "arrived at x")
        assert browser.value("document.getElementById('driving').textContent") == "standing", "a route that does not end"
        ended = rover_of(client.until("a rover that stands at the end", stands))
        off_m = math.dist(ended["at_m"][:2], stops[1])
        assert off_m < 0.5, f"the route ended {off_m:.2f} m from its last place"
        # An answer on its way may be older than the end of the route; the one after it is not.
        after = near(client, near(client, before["number"])["number"])
    left, between, right = [lowered_m(before, after, begun, aside_m) for aside_m in ((0.3, 1), (-0.3, 0.3), (-1, -0.3))]
    areas_m2 = [GRID_M**2 * (strip > RUT_M).sum() for strip in (left, right)]
    print(f"new ruts: {areas_m2[0]:.2f} and {areas_m2[1]:.2f} m2, up to {1000 * max(left.max(), right.max()):.0f} mm deep")
    assert min(areas_m2) > 0.1 and numpy.abs(between).max() < RUT_M, f"ruts of {areas_m2} m2, between them {numpy.abs(between).max()} m"


def dimensions(browser):
    """The view in three dimensions gets ground, rocks, lidar points and frames of the run, and draws the last two."""
    choose(browser, "span", "near")
    browser.until("the ground near the rover", "given.setGround?.[0].resolution_m < 0.08")
    heights = browser.value("[...given.setGround[1]]")
    assert len(heights) == 160 * 160 and all(height is not None for height in heights), "ground with holes"
    assert max(heights) - min(heights) > 0.05, f"the ground is flat: {min(heights)} to {max(heights)}"
    browser.until("rocks", "given.setRocks?.[0].length >= 4 * 100")
    assert browser.value("[...given.setRocks[0]].every(Number.isFinite)"), "rocks that are nowhere"
    frames = browser.value("given.setLines[0]")
    names = {name for name, _, _, _ in frames}
    assert {"base_link", "lidar", "navcam_left_optical", "front_left_wheel"} <= names, names
    assert all(math.isfinite(value) for _, _, *numbers in frames for values in numbers for value in values), frames
    points = "given.setPoints?.[0].length > 3 * 5000 && [...given.setPoints[0]].every(Number.isFinite)"
    choose(browser, "cloud", "/lidar/points")
    browser.until("lidar points", points)
    # Nothing else changes while the run is paused.
    click(browser, "pause")
    browser.until("a paused run", "document.getElementById('run').textContent === 'paused'")
    choose(browser, "cloud", "")
    browser.value("document.getElementById('scene').scrollIntoView({ block: 'center' })")
    for what, show, shown, hide in [
        ("lidar points", lambda: choose(browser, "cloud", "/lidar/points"), points, lambda: choose(browser, "cloud", "")),
        ("frames", lambda: click(browser, "show-frames"), "true", lambda: click(browser, "show-frames")),
    ]:
        first = drawn(browser)
        show()
        browser.until(what, shown)
        changed = numpy.abs(drawn(browser) - first).mean()
        hide()
        left = numpy.abs(drawn(browser) - first).mean()
        print(f"{what} of the run: the view changes by {changed:.2f}, and {left:.2f} is left of it")
        assert changed > 0.1 and left < 0.5 * changed, f"{what}: the view changes by {changed}, and {left} is left of it"
    click(browser, "play")


def rest(client):
    """Waits until a rover has stood for longer than the commands that are on their way may take."""
    turned = [time.monotonic()]
    client.until("a rover at rest", lambda state: turns(state) and turned.append(time.monotonic()) or time.monotonic() - turned[-1] > 2)


def delay(browser, url):
    """Over a link with a delay a key reaches the wheels so much later, and the page shows that later by as much again."""
    with closing(Client(url)) as client:
        client.until("a rover that stands", stands)
        choose(browser, "link-delay", "1300")
        pressed = time.monotonic()
        browser.key("keyDown", "w")
        client.until("wheels that a key turns over a delayed link", turns)
        turned_s = time.monotonic() - pressed
        browser.until("wheels that turn on the page", f"Math.max(...{RATES}) > 0.05")
        shown_s = time.monotonic() - pressed
        browser.key("keyUp", "w")
        rest(client)
        place = ahead(rover_of(client.ask("state", after=0)), 0.1)
        clicked = time.monotonic()
        click_on_map(browser, client, "go", place)
        answered(browser, "arrived at x")
        arrived_s = time.monotonic() - clicked
        choose(browser, "link-delay", "0")
        # Then nothing under way is newer than what the page shows.
        browser.until("the clock of the run on the page", f"{TIME} > {client.ask('state', after=0)['time_s']}")
    print(f"with a delay of 1.3 s wheels turn {turned_s:.2f} s after the key, {shown_s:.2f} s on the page; "
          f"an arrival is told {arrived_s:.2f} s after the click")
    for what, least_s, seconds in (("wheels turn", 1.3, turned_s), ("the page shows it", 2.6, shown_s), ("an arrival", 2.6, arrived_s)):
        assert least_s <= seconds < least_s + LATE_S, f"{what}: after {seconds:.2f} s"


# A slow machine may add this to the delay of a link.
LATE_S = 3.0


def loss(browser, url):
    """Over a link that loses everything no command reaches the wheels and the page shows nothing new."""
    with closing(Client(url)) as client:
        begun_s = client.until("a rover that stands", stands)["time_s"]
        browser.value("document.getElementById('link-loss').add(new Option('everything', '1'))")
        choose(browser, "link-loss", "1")
        shown = browser.value(TIME)
        browser.key("keyDown", "w")
        moved = []
        client.until("a second", lambda state: moved.append(turns(state)) or state["time_s"] > begun_s + 1)
        assert not any(moved), "a command that was lost turns wheels"
        assert browser.value(TIME) == shown, "messages that were lost are shown"
        choose(browser, "link-loss", "0")
        client.until("wheels that turn when nothing is lost", turns)
        browser.key("keyUp", "w")
        client.until("wheels that stand", stands)


def quality(browser, url):
    """The chosen quality decides the size of pictures."""
    topic, bytes_of = "/navcam_left/image_raw", {}
    with closing(Client(url)) as client:
        for look, width in (("small", 320), ("medium", 640), ("full", 640)):
            choose(browser, "look", look)
            browser.until(f"a picture {width} px wide", f"document.querySelector('.pane canvas').width === {width}")
            jpeg = client.ask("image", topic=topic, after=0, look=look)["payload"]
            assert cv2.imdecode(numpy.frombuffer(jpeg, "u1"), cv2.IMREAD_COLOR).shape[1] == width, look
            bytes_of[look] = len(jpeg)
    choose(browser, "look", "medium")
    print(f"bytes of a picture: {bytes_of}")
    assert 2 * bytes_of["small"] < bytes_of["medium"] and 1.2 * bytes_of["medium"] < bytes_of["full"], bytes_of


# What each plot shows last, and how many of its pixels have the colour of a line; zero is grey.
PLOTS = """[...document.querySelectorAll(".plot")].map((plot) => {
  const canvas = plot.querySelector("canvas"), { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  let drawn = 0;
  for (let at = 0; at < data.length; at += 4) drawn += data[at + 3] > 100 && Math.abs(data[at + 2] - data[at]) > 80;
  return [plot.querySelector("span").textContent, plot.querySelector("output").textContent.split(" / ").map(parseFloat), drawn];
})"""
# The least and the greatest that each plot may show while the rover drives.
PLOTTED = {"Speed": (0.02, 0.3), "Slip mean most": (0, 100), "Sinkage mean most": (0.1, 200), "Wheel torque, mean": (0.01, 300),
           "Attitude roll pitch": (-20, 20), "Battery": (80, 91), "Pace": (0.01, 1.5)}


def plots(browser):
    """Every plot gets numbers of a rover that drives, and draws them."""
    browser.key("keyDown", "w")
    begun, wrong = time.monotonic(), ["nothing"]
    while wrong and time.monotonic() - begun < SOON_S:
        shown = browser.value(PLOTS)
        wrong = [plot for plot in shown if not all(value is not None and PLOTTED[plot[0]][0] <= value <= PLOTTED[plot[0]][1] for value in plot[1])]
        time.sleep(0.05)
    browser.key("keyUp", "w")
    assert not wrong and [title for title, _, _ in shown] == list(PLOTTED), f"plots show {wrong or shown}"
    assert all(drawn > 20 for _, _, drawn in shown), f"plots draw too little: {shown}"
    print(f"plots: {shown}")


def pace(browser):
    """The chosen pace is kept."""
    shown = "parseFloat(document.getElementById('pace').textContent)"
    choose(browser, "set-pace", "0.1")
    answered(browser, "pace: pace 0.1")
    browser.until("a tenth of the pace", f"{shown} > 0.05 && {shown} < 0.15")
    choose(browser, "set-pace", "1")
    answered(browser, "pace: pace 1")
    browser.until("the pace of before", f"{shown} > 0.2")


def rock(browser, url):
    """A click on the map puts a rock there, which the camera and the view in three dimensions see."""
    with closing(Client(url)) as client:
        # Boxes in the middle of the picture, whose camera looks ahead.
        rocks = lambda: [box for box in client.ask("boxes", topic="/navcam_left/detections", after=0)["boxes"]
                         if box[0] == "rock" and abs(box[1][0] - 320) < 80 and box[2][0] > 60]
        before = rocks()
        place = ahead(rover_of(client.until("a rover that stands", stands)), 4)
        known = browser.value("given.setRocks[0].length")
        choose(browser, "diameter", "0.8")
        click_on_map(browser, client, "rock", place)
        told = answered(browser, "rock: ")
        assert told.endswith(" is there"), told
        browser.until("the rock in the view", f"given.setRocks[0].length === {known + 4}")
        begun = time.monotonic()
        while len(rocks()) <= len(before):
            assert time.monotonic() - begun < SOON_S, f"no rock in {client.ask('boxes', topic='/navcam_left/detections', after=0)}"
            time.sleep(0.05)


# Mean brightness of the first picture, of 255.
BRIGHT = """(({ data }) => data.reduce((sum, value, at) => sum + (at % 4 === 3 ? 0 : value), 0) / data.length * 4 / 3)
(((canvas) => canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height))(document.querySelector(".pane canvas")))"""
# An instant at which the Sun is six degrees below the horizontal at the site, so that no hill is lit either.
NIGHT = "2027-05-03T12:00:00Z"


def sky(browser, url):
    """The sky is set to that of a night, and a lamp lights the picture; a wrong date is refused."""
    browser.value("document.getElementById('utc').value = 'tomorrow'")
    click(browser, "sun")
    answered(browser, "sun: refused: ")
    day = browser.value(BRIGHT)
    choose(browser, "utc", NIGHT)
    click(browser, "sun")
    answered(browser, f"sun: the sky is that of {NIGHT}")
    browser.until("night", f"{BRIGHT} < {0.05 * day}")
    night = browser.value(BRIGHT)
    with closing(Client(url)) as client:
        lamp = client.ask("state", after=0)["lamps"][0]
        assert lamp == {"name": "viper.lamps.headlight_left", "level": 0}, lamp
        choose(browser, "lamp-0", "0.75")
        answered(browser, "lamp: viper.lamps.headlight_left 0.75")
        client.until("a lamp that shines", lambda state: state["lamps"][0]["level"] == 0.75)
    browser.until("ground in the light of the lamp", f"{BRIGHT} > {night + 5}")
    print(f"brightness of the picture by day {day:.1f}, by night {night:.1f}, with a lamp {browser.value(BRIGHT):.1f}")


HEARTBEAT_S = 0.005


def steps(browser, url):
    """A paused run makes as many heartbeats as are asked for; a reset brings it back to the beginning."""
    with closing(Client(url)) as client:
        click(browser, "pause")
        client.until("a paused run", lambda state: state["run"] == "paused")
        # After a first step all is told of the time before.
        choose(browser, "steps", "1")
        click(browser, "step")
        answered(browser, "step: 1 heartbeats made")
        begun_s = steady(client)
        choose(browser, "steps", "200")
        click(browser, "step")
        answered(browser, "step: 200 heartbeats made")
        ended_s = steady(client)
        way_m = math.hypot(*rover_of(client.ask("state", after=0))["at_m"][:2])
        assert way_m > 1, f"the rover is {way_m:.2f} m from its start: a reset would not change that much"
        assert abs(ended_s - begun_s - 200 * HEARTBEAT_S) < 1e-9, f"200 heartbeats from {begun_s} s to {ended_s} s"
        browser.until("that time on the page", f"Math.abs({TIME} - {ended_s}) < 0.06")
        click(browser, "reset")
        answered(browser, "reset: back at the beginning")
        client.until("time zero", lambda state: state["time_s"] == 0)
        browser.until("time zero on the page", "document.getElementById('time').textContent === '0.0 s'")
        client.until("lamps as at the beginning", lambda state: not any(lamp["level"] for lamp in state["lamps"]))
        click(browser, "play")
        click(browser, "halt")
        client.until("the rover at its start", lambda state: state["time_s"] > 0 and math.hypot(*rover_of(state)["at_m"][:2]) < 0.3)
        browser.until("day", f"{BRIGHT} > 10")


def steady(client):
    """The simulated time when it has not changed for a while, s."""
    seen = []
    client.until("a clock that stands", lambda state: seen.append(state["time_s"]) or (len(seen) > 10 and len(set(seen[-10:])) == 1))
    return seen[-1]


# Names of the controls, shown texts and pictures that are partly beyond the left or right edge of the screen.
BEYOND = """[...document.querySelectorAll("main, header, section, fieldset, legend, label, p, output, button, select, input, canvas, [tabindex]")]
  .map((part) => [part.id || part.textContent.slice(0, 30) || part.tagName, part.getBoundingClientRect()])
  .filter(([, { width, left, right }]) => width > 0 && (left < 0 || right > %d + 0.5)).map(([name]) => name)"""
LONG = "refused: /home/somebody/a_folder_with_a_long_name/another_folder_with_a_long_name/scenario.yaml: no such file"


def panel(browser):
    """With control, lamps and scenarios shown, the page fits narrow and wide screens, light and dark."""
    browser.until("scenarios to switch to", "!document.getElementById('scenarios').hidden")
    browser.until("lamps", "document.querySelectorAll('#lamps input').length === 2")
    window_px = browser.value("innerWidth")
    browser.value(f"document.getElementById('outcome').textContent = {json.dumps(LONG)}")
    for width, height, scheme in console_golden.SHAPES:
        browser.shape(width, height, scheme)
        hidden = browser.value("['scenarios', 'lamp-0', 'pad', 'record'].filter((name) => !document.getElementById(name).getClientRects().length)")
        assert not hidden, f"not on a screen {width} px wide: {hidden}"
        wide, beyond = browser.value("document.documentElement.scrollWidth"), browser.value(BEYOND % width)
        assert wide <= width and not beyond, f"on a screen {width} px wide the page has {wide} px and these stand out: {beyond}"
    browser.call("Emulation.clearDeviceMetricsOverride")
    browser.call("Emulation.setEmulatedMedia", features=[])
    browser.until("the window as before", f"innerWidth === {window_px}")


def spawn(browser, url):
    """A click on the map adds a rover of the configuration; the page shows the rocks around the one that is chosen."""
    choice = "[...document.getElementById('click').options].find(({ text }) => text.endsWith(': sorato'))"
    browser.until("rovers to spawn", f"{choice} !== undefined")
    first = browser.value("document.getElementById('rover').value")
    with closing(Client(url)) as client:
        east, north, _ = rover_of(client.ask("state", after=0))["at_m"]
        click_on_map(browser, client, browser.value(f"{choice}.value"), [east, north + 7])
    answered(browser, "spawn: sorato")
    others = f"[...document.getElementById('rover').options].map(({{ value }}) => value).filter((value) => value !== '{first}')"
    second = browser.until("another rover", f"{others}[0]")
    for rover in (second, first):
        browser.value("delete given.setRocks")
        choose(browser, "rover", rover)
        browser.until(f"rocks around {rover or 'the first rover'}", "given.setRocks?.[0].length > 0")


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
  link.down("bulk", 1000, () => at("open"), () => at("free"));
  if (came.map(([what]) => what).join() !== "open,free") return "a link that is switched off holds back";
  came.length = 0;
  // Half of the rate is that of pictures: 10 000 bytes a second.
  Object.assign(link, { bitsPerSecond: 160_000, delayMs: 200 });
  for (const name of ["one", "two"]) link.down("bulk", 2000, () => at(name), () => at(`after ${name}`));
  await new Promise((done) => setTimeout(done, 900));
  const names = came.map(([what]) => what).join();
  if (names !== "after one,one,after two,two" && names !== "after one,after two,one,two") return names;
  const of = (name) => came.find(([what]) => what === name)[1];
  if (of("after one") < 195 || of("one") < 395 || of("two") < 595) return `too early: ${JSON.stringify(came)}`;
  came.length = 0;
  link.delayMs = 0;
  link.down("bulk", 100_000, () => at("late"), () => {});
  link.down("telemetry", 100, () => at("state"), () => {});
  await new Promise((done) => setTimeout(done, 300));
  if (came.map(([what]) => what).join() !== "state") return "telemetry waits behind a picture";
  link.setRate(Infinity);
  if (came.map(([what]) => what).join() !== "state,late") return "a link that is switched off still holds back";
  came.length = 0;
  link.loss = 1;
  link.down("bulk", 1000, () => at("lost"), () => at("next"));
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
        boxes(browser, url)
        waypoint(browser)
        route(browser, url)
        dimensions(browser)
        rehearsal(browser)
        delay(browser, url)
        loss(browser, url)
        quality(browser, url)
        plots(browser)
        pace(browser)
        rock(browser, url)
        sky(browser, url)
        steps(browser, url)
        panel(browser)
        session(browser, folder)
        spawn(browser, url)
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
