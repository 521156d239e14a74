"""A browser at the console: console.py URL CHROMIUM FOLDER. Drives Chromium by its own protocol (DevTools) with nothing
but Python's standard library, and says what is not as it should be; the exit status is 1 then. URL has the token.
Pictures of the page are left in FOLDER."""

import base64
import json
import os
import re
import socket
import subprocess
import sys
import time
from urllib.parse import urlsplit

SOON_S = 60.0
FLAGS = ["--headless=new", "--no-sandbox", "--no-first-run", "--disable-dev-shm-usage", "--use-angle=swiftshader",
         "--enable-unsafe-swiftshader", "--remote-debugging-port=0", "--window-size=1280,900", "--disable-background-networking"]


class Socket:
    """A WebSocket, as far as DevTools needs one."""

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
    """Chromium, and a page in it."""

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

    def open(self, url):
        self.session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Runtime", "Log", "Page"):
            self.call(f"{domain}.enable")
        self.call("Page.navigate", url=url)

    def value(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
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

    def picture(self, path):
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=False)
        with open(path, "wb") as file:
            file.write(base64.b64decode(shot["data"]))

    def end(self):
        self.process.kill()
        self.process.wait()


TIME = "parseFloat(document.getElementById('time')?.textContent)"
RATES = "[...document.querySelectorAll('#wheels tr')].map((row) => parseFloat(row.children[4].textContent))"
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
    """Keys drive, released they stop; pause holds the clock."""
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


def shapes(browser, folder):
    """Narrow and wide, light and dark."""
    grounds = set()
    for width, height, scheme in [(360, 780, "light"), (1920, 1080, "dark")]:
        browser.shape(width, height, scheme)
        time.sleep(1.0)
        wide = browser.value("document.documentElement.scrollWidth")
        assert wide <= width, f"the page is {wide} px wide on a screen of {width}"
        grounds.add(browser.value("getComputedStyle(document.body).backgroundColor"))
        browser.picture(f"{folder}/console-{width}-{scheme}.png")
    assert len(grounds) == 2, "light and dark look the same"


def main():
    url, chromium, folder = sys.argv[1:]
    browser = Browser(chromium, folder)
    try:
        watch(browser, url)
        control(browser, url)
        shapes(browser, folder)
    finally:
        browser.end()
    if browser.errors:
        raise SystemExit("errors in the browser's console: " + "; ".join(browser.errors))
    print("the page is as it should be")


main()
