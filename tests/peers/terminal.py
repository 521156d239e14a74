"""Runs Selene's program as a person does, in a terminal (a pseudo-terminal of the system): terminal.py SELENE FOLDER.

FOLDER is empty and takes all files. What a terminal would show is worked out from the bytes that the program writes. On
a fault, says what is wrong and exits with 1.
"""

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from pathlib import Path

# Size of the terminal, and the longest that any program may take.
ROWS, COLUMNS = 50, 100
SOON_S = 120.0
ESC = b"\x1b"
# Escapes: of colour (SGR), and of any kind with its number and letter.
COLOUR = re.compile(rb"\x1b\[[0-9;:]*m")
ESCAPE = re.compile(r"\x1b\[([?0-9;:]*)([A-Za-z])")
# Simulated time in a status; the bar before it; what is left in a bar of work.
STATUS = re.compile(r"(\d+\.\d)( of \d+)? s simulated")
RUN_BAR = re.compile(r"\[[█▉▊▋▌▍▎▏░ ]{30}\] \d+\.\d of \d+ s simulated")
CLOCK_RATE = re.compile(r" · clock (19[5-9]|20[0-5])\b")
WORK_BAR = re.compile(r"\[[█▉▊▋▌▍▎▏░ ]{30}\] (\d+) %(?:, \d+ s left)?")
# A rover without sensors on a small level yard: the cheapest world, and one with a camera and an IMU.
WORLD = "site: test_yard\nrover: {file: ex1}\nsensors: [%s]\nroute: {speed_m_s: 0.1, waypoints_m: [[100, 0]]}\n"
CHEAP = ["run", "cheap.yaml", "--no-dds", "--no-pictures", "--device", "cpu"]
SEEN = ["run", "seen.yaml", "--no-dds", "--device", "cpu"]
# Wall time between two lines of a run that is not on a terminal, s, and what a busy machine may add.
LINE_S, LATE_S = 10.0, 1.5
# Domain of the run that has DDS, which no other program on the machine is likely to use.
DOMAIN = "93"


class Screen:
    """What a terminal shows: text, carriage returns, line feeds, and escapes that move the cursor or clear."""

    def __init__(self):
        self.lines, self.row, self.column = [""], 0, 0

    def feed(self, text):
        at = 0
        while at < len(text):
            escape = ESCAPE.match(text, at)
            if escape:
                self.escape(*escape.groups())
                at = escape.end()
            else:
                self.put(text[at])
                at += 1

    def put(self, letter):
        if letter == "\r":
            self.column = 0
        elif letter == "\n":
            self.down(1)
        else:
            if self.column == COLUMNS:
                self.column = 0
                self.down(1)
            line = self.lines[self.row].ljust(self.column)
            self.lines[self.row] = line[:self.column] + letter + line[self.column + 1:]
            self.column += 1

    def down(self, count):
        self.row += count
        self.lines += [""] * (self.row + 1 - len(self.lines))

    def escape(self, number, letter):
        count = int(number) if number.isdigit() else 1
        if letter == "A":
            self.row = max(self.row - count, 0)
        elif letter == "B":
            self.down(count)
        elif letter == "C":
            self.column = min(self.column + count, COLUMNS - 1)
        elif letter == "D":
            self.column = max(self.column - count, 0)
        elif letter == "K":
            self.lines[self.row] = "" if number == "2" else self.lines[self.row][:self.column]
        elif letter == "J":
            self.lines[self.row] = self.lines[self.row][:self.column]
            del self.lines[self.row + 1:]
        else:
            assert letter in "mhl", f"an escape that this terminal does not know: ESC[{number}{letter}"

    def text(self):
        return "\n".join(self.lines)


class Shown:
    """A program that has ended on a terminal: its exit status, its bytes, and the screens, one before each return of the
    cursor to the left, so that nothing that was drawn is missed."""

    def __init__(self, status, pieces):
        self.status, self.bytes = status, b"".join(pieces)
        screen, self.screens = Screen(), []
        # A piece may end within a letter of several bytes or within an escape: both wait for the next one.
        waiting = b""
        for piece in pieces:
            waiting += piece
            whole, waiting = split(waiting)
            for drawn in re.split(r"(?<=[\r\n])", whole.decode()):
                screen.feed(drawn)
                self.screens.append(screen.text())

    def end(self):
        return self.screens[-1] if self.screens else ""


def split(data):
    """The part of some bytes that is whole letters and escapes, and the rest."""
    for cut in range(len(data), max(len(data) - 12, 0), -1):
        head = data[:cut]
        try:
            tail = head.decode()[-10:]
        except UnicodeDecodeError:
            continue
        begun = tail.rfind("\x1b")
        if begun < 0 or ESCAPE.match(tail, begun):
            return head, data[cut:]
    return b"", data


class Terminal:
    """Runs programs in a folder, with a home of their own."""

    def __init__(self, selene, folder):
        self.selene, self.folder = selene, folder
        self.home, self.temporary = folder / "home", folder / "tmp"
        self.home.mkdir()
        self.temporary.mkdir()

    def environment(self, more):
        kept = {name: value for name, value in os.environ.items() if name in ("PATH", "LD_LIBRARY_PATH", "LANG")}
        ours = {"HOME": self.home, "TMPDIR": self.temporary, "TERM": "xterm-256color", "ROS_DOMAIN_ID": DOMAIN,
                "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
        return {**kept, **{name: str(value) for name, value in ours.items()}, **more}

    def show(self, words, folder=None, stop_when=None, **environment):
        """Runs the program on a terminal. `stop_when` says of the screen when to press Ctrl-C."""
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        program = subprocess.Popen([self.selene, *words], cwd=folder or self.folder, stdin=theirs, stdout=theirs,
                                   stderr=theirs, env=self.environment(environment), start_new_session=True)
        os.close(theirs)
        try:
            return self.watched(program, ours, stop_when)
        finally:
            program.kill()
            program.wait()
            os.close(ours)

    def watched(self, program, ours, stop_when):
        pieces, end = [], time.monotonic() + SOON_S
        while piece := received(ours, end):
            pieces.append(piece)
            if stop_when and stop_when(b"".join(pieces).decode(errors="replace")):
                program.send_signal(signal.SIGINT)
                stop_when = None
        return Shown(program.wait(SOON_S), pieces)

    def piped(self, words, **environment):
        """Starts the program without any terminal."""
        return Piped([self.selene, *words], self.folder, self.environment(environment))


class Piped:
    """A program whose output goes to pipes: its lines of standard error with their times, and its standard output."""

    def __init__(self, words, folder, environment):
        self.program = subprocess.Popen(words, cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
        self.notes, self.results = [], b""
        self.readers = [threading.Thread(target=read) for read in (self.read_notes, self.read_results)]
        for reader in self.readers:
            reader.start()

    def read_notes(self):
        for line in self.program.stderr:
            self.notes.append((time.monotonic(), line))

    def read_results(self):
        self.results = self.program.stdout.read()

    def close(self):
        self.program.kill()
        self.program.wait()
        for reader in self.readers:
            reader.join()

    def ended(self):
        """Waits until it ends well; returns all that it printed."""
        try:
            status = self.program.wait(SOON_S)
        finally:
            self.close()
        printed = b"".join(line for _, line in self.notes) + self.results
        assert status == 0, f"exit status {status}:\n{printed.decode()}"
        assert ESC not in printed, f"without a terminal there are escapes: {printed!r}"
        assert b"\r" not in printed, f"without a terminal there are carriage returns: {printed!r}"
        return printed.decode()


def received(ours, end):
    """The next bytes from a terminal; nothing once its program has ended."""
    ready, _, _ = select.select([ours], [], [], max(end - time.monotonic(), 0.0))
    assert ready, f"the program has not ended after {SOON_S} s"
    # Linux reports the end of the other side as an error.
    with contextlib.suppress(OSError):
        return os.read(ours, 65536)
    return b""


def well(shown):
    assert shown.status == 0, f"exit status {shown.status}:\n{shown.end()}"
    return shown


def times(screens):
    """The simulated times that a run's status showed, without repetitions."""
    seen = []
    for screen in screens:
        found = STATUS.search(screen)
        if found and (not seen or seen[-1] != found[1]):
            seen.append(found[1])
    return seen


def check_redrawn(shown):
    """The status changes, is never there twice, and is gone at the end."""
    assert len(times(shown.screens)) >= 4, f"the status did not go on: {times(shown.screens)}"
    for screen in shown.screens:
        assert len(STATUS.findall(screen)) <= 1, f"the status piles up:\n{screen}"
    assert not STATUS.search(shown.end()), f"the status is left behind:\n{shown.end()}"
    assert shown.bytes.count(b"\r") > shown.bytes.count(b"\r\n"), "no carriage return goes back over a line"


def a_run_of_known_length_is_a_bar_that_is_redrawn(terminal):
    shown = well(terminal.show([*CHEAP, "--for", "3"]))
    check_redrawn(shown)
    bars = [screen for screen in shown.screens if RUN_BAR.search(screen)]
    assert bars, f"no bar of a run whose end is known: {shown.bytes!r}"
    filled = [bar.count("█") for bar in bars]
    assert filled == sorted(filled) and filled[-1] > filled[0], f"the bar does not grow: {filled}"
    assert any("real-time factor" in bar and "m driven" in bar for bar in bars), f"pace and way are missing: {bars[-1]}"
    assert "  simulated " in shown.end() and "topic" in shown.end(), f"no summary:\n{shown.end()}"


def colours_are_left_out_when_they_are_not_wanted(terminal):
    logged, refused = [*CHEAP, "--for", "1", "-v"], ["check", "missing.yaml"]
    for words in [logged, refused, ["nonsense"], ["--help"]]:
        plain = terminal.show(words, NO_COLOR="1")
        found = COLOUR.findall(plain.bytes)
        assert not found, f"NO_COLOR is set, and there are colours {found}:\n{plain.end()}"
    # Without it there are some: the check above sees what there is to see.
    for words in [logged, refused]:
        assert COLOUR.search(terminal.show(words).bytes), f"{words} has no colour on a terminal"


def more_or_less_is_shown_as_asked(terminal):
    verbose = well(terminal.show([*CHEAP, "--for", "3", "-v"]))
    check_redrawn(verbose)
    rates = [screen for screen in verbose.screens if re.search(r"^Hz( · \S+ \d+)+", screen, re.MULTILINE)]
    assert rates and CLOCK_RATE.search(rates[-1]), f"-v shows no rates of topics:\n{verbose.screens}"
    usual = well(terminal.show([*CHEAP, "--for", "1.5"]))
    assert not any(CLOCK_RATE.search(screen) for screen in usual.screens), f"rates without -v:\n{usual.end()}"
    quiet = well(terminal.show([*CHEAP, "--for", "1", "--quiet"]))
    printed = quiet.bytes.decode()
    assert ESC not in quiet.bytes and not STATUS.search(printed), f"--quiet shows a status: {printed!r}"
    assert "until" not in printed and " · " not in printed, f"--quiet shows notes:\n{printed}"
    assert printed.startswith("  scenario "), f"--quiet shows something else than the results:\n{printed}"


def a_run_without_a_terminal_is_a_line_each_ten_seconds(begun):
    begun.ended()
    lines = [(at, line.decode()) for at, line in begun.notes if b"s simulated" in line]
    assert len(lines) >= 2, f"no line each {LINE_S} s: {begun.notes}"
    for (before, _), (after, line) in zip(lines, lines[1:]):
        assert LINE_S - 0.5 < after - before < LINE_S + LATE_S, f"{after - before:.1f} s between lines: {line}"
    for _, line in lines:
        assert len(line) < 80 and "real-time factor" in line, f"not a short line with what matters: {line!r}"
    others = [line.decode() for _, line in begun.notes if b"s simulated" not in line]
    assert len(others) <= 5, f"more than what it does and a line each {LINE_S} s: {others}"


def long_work_is_a_bar_with_what_is_left(terminal):
    work = {"rendering": ["render", "seen.yaml", "--at", "1", "--device", "cpu", "--out", "images"],
            "slopes": ["rig", "slope", "ex1", "--soil", "lunar", "--slope", "0:10:1", "--out", "slopes"]}
    for what, words in work.items():
        shown = well(terminal.show(words))
        shares = [int(found[1]) for screen in shown.screens for found in [WORK_BAR.search(screen)] if found]
        assert shares == sorted(shares) and len(set(shares)) >= 3, f"{what}: the bar does not grow: {shares}"
        assert any(" s left" in screen for screen in shown.screens), f"{what}: what is left is not said"
        for screen in shown.screens:
            assert len(WORK_BAR.findall(screen)) <= 1, f"{what}: the bar piles up:\n{screen}"
        assert any(re.search(rf"^{what} \[", screen, re.MULTILINE) for screen in shown.screens), f"no bar of {what}"
        assert not WORK_BAR.search(shown.end()), f"{what}: the bar is left behind:\n{shown.end()}"
        printed = terminal.piped(words).ended()
        assert "█" not in printed and not WORK_BAR.search(printed), f"{what}: a bar without a terminal:\n{printed}"


def full_paths(terminal, printed, *names):
    """Each of these files of the folder is printed by its absolute path, and is there."""
    for name in names:
        path = terminal.folder / name
        assert str(path) in printed, f"{path} is not printed:\n{printed}"
        assert path.exists(), f"{path} is printed and is not there"


def what_is_written_is_named_by_its_full_path(terminal):
    run = terminal.piped([*SEEN, "--pace", "fast", "--for", "1", "--out", "run", "--record", "bag"]).ended()
    full_paths(terminal, run, "run/first_image.png", "run/contact_sheet.png", "run/path.png", "run/wheels.png", "bag")
    render = terminal.piped(["render", "seen.yaml", "--at", "0.5", "--device", "cpu", "--out", "all"]).ended()
    images = sorted(f"all/{file.name}" for file in (terminal.folder / "all").iterdir())
    assert len(images) >= 2, f"an image of each camera: {images}"
    full_paths(terminal, render, *images)
    slope = terminal.piped(["rig", "slope", "ex1", "--soil", "lunar", "--slope", "0", "--out", "slope"]).ended()
    full_paths(terminal, slope, "slope/slope.csv", "slope/slope.png")
    wheel = ["rig", "wheel", "--soil", "lunar", "--grid", "0.04", "--slip", "0.1,0.2", "--out", "wheel"]
    printed = terminal.piped(wheel).ended()
    full_paths(terminal, printed, *(f"wheel/{file.name}" for file in (terminal.folder / "wheel").iterdir()))
    urdf = terminal.folder / "cart.urdf"
    urdf.write_text(CART)
    imported = terminal.piped(["import", "cart.urdf", "--out", "rovers"]).ended()
    full_paths(terminal, imported, "rovers/cart.yaml", "rovers/cart.png")


def lines_of_the_log_leave_the_status_whole(terminal):
    shown = well(terminal.show([*CHEAP[:2], "--no-pictures", "--device", "cpu", "--for", "2"], RUST_LOG="debug"))
    assert "DEBUG" in shown.end(), f"nothing is logged: {shown.end()}"
    left = len(STATUS.findall(shown.end()))
    assert left == 0, f"lines of the log leave the status behind {left} times"


def listing(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def bare_it_says_what_it_does_and_ends_on_request(terminal):
    here = terminal.folder / "bare"
    here.mkdir()
    outside = [terminal.home, terminal.temporary]
    before = [listing(folder) for folder in outside]
    has_driven = lambda printed: any(float(found[1]) > 1.0 for found in STATUS.finditer(printed))
    shown = well(terminal.show([], folder=here, stop_when=has_driven))
    for part in ["polar: viper at polar", "in real time until every route's end, or Ctrl-C",
                 f"topics on ROS domain {DOMAIN}: see `ros2 topic list`", f"pictures at the end in {here}/out"]:
        assert part in shown.end(), f"{part!r} is not said:\n{shown.end()}"
    statuses = [screen for screen in shown.screens if STATUS.search(screen)]
    assert not any(RUN_BAR.search(screen) for screen in statuses), "a bar, though no end is known"
    for part in ["ended", "simulated", "real-time factor", f"{here}/out/contact_sheet.png", "/clock"]:
        assert part in shown.end(), f"{part!r} is not in the summary:\n{shown.end()}"
    assert "ending; once more after a second to end at once" in shown.end(), f"what Ctrl-C does is not said:\n{shown.end()}"
    assert not STATUS.search(shown.end()), f"the status is left behind:\n{shown.end()}"
    assert [listing(folder) for folder in outside] == before, f"written outside: {[listing(f) for f in outside]}"
    assert {Path(name).parts[0] for name in listing(here)} == {"out"}, f"written elsewhere: {listing(here)}"


CART = """<robot name="cart">
  <link name="base_link">
    <inertial><mass value="20"/><inertia ixx="0.3" ixy="0" ixz="0" iyy="0.65" iyz="0" izz="0.9"/></inertial>
    <collision><geometry><box size="0.6 0.4 0.15"/></geometry></collision>
  </link>
""" + "".join(f"""
  <joint name="{name}_wheel_joint" type="continuous">
    <parent link="base_link"/><child link="{name}_wheel"/><origin xyz="{x} {y} -0.1"/><axis xyz="0 1 0"/>
  </joint>
  <link name="{name}_wheel">
    <inertial><mass value="1.5"/><inertia ixx="0.007" ixy="0" ixz="0" iyy="0.011" iyz="0" izz="0.007"/></inertial>
    <collision><origin rpy="1.5707963 0 0"/><geometry><cylinder radius="0.12" length="0.1"/></geometry></collision>
  </link>
""" for name, x, y in [("fl", 0.25, 0.28), ("fr", 0.25, -0.28), ("rl", -0.25, 0.28), ("rr", -0.25, -0.28)]) + "</robot>\n"


def main(selene, folder):
    folder = Path(folder).resolve()
    terminal = Terminal(selene, folder)
    (folder / "cheap.yaml").write_text(WORLD % "")
    (folder / "seen.yaml").write_text(WORLD % "navcam_left, ex1_camera, imu")
    # Most of its time is waiting, so the others run beside it.
    slow = terminal.piped([*CHEAP, "--for", "21"])
    with contextlib.closing(slow):
        check_all(terminal, slow)


def check_all(terminal, slow):
    began = time.monotonic()
    for check in (bare_it_says_what_it_does_and_ends_on_request, a_run_of_known_length_is_a_bar_that_is_redrawn,
                  colours_are_left_out_when_they_are_not_wanted, more_or_less_is_shown_as_asked,
                  lines_of_the_log_leave_the_status_whole, long_work_is_a_bar_with_what_is_left, what_is_written_is_named_by_its_full_path):
        check(terminal)
        print(f"{check.__name__.replace('_', ' ')}: {time.monotonic() - began:.1f} s", flush=True)
    a_run_without_a_terminal_is_a_line_each_ten_seconds(slow)
    print(f"all: {time.monotonic() - began:.1f} s")


main(*sys.argv[1:])
