"""A link between two network namespaces that delays and loses frames. Link and namespaces belong to this process and
disappear when it ends. Each frame arrives DELAY_MS after it was sent, in order; frames are lost one by one,
independently of each other. `unicast` carries no IP multicast, like many radio links and VPNs.

    link.py DELAY_MS LOSS [unicast]

Prints `namespaces PATH PATH`; the ends in them have the addresses 10.77.0.1 and 10.77.0.2. The line `down` on standard
input takes the first end down and `up` brings it up again. When standard input ends, it prints the numbers of frames
that it carried and lost, and of frames with UDP that were sent at all. Exits with 77 and a reason if this machine does not allow such namespaces.

It replaces the kernel's netem, which not every kernel has."""

import ctypes
import fcntl
import os
import random
import select
import struct
import subprocess
import sys
import time
from collections import deque

CLONE_NEWNET = 0x40000000
# An Ethernet device whose frames this process reads and writes, without a header of their own.
TUNSETIFF, IFF_TAP, IFF_NO_PI = 0x400454CA, 0x0002, 0x1000
NAME = "link0"
FRAME_BYTES_MAX = 65536
NOT_HERE = 77


def main():
    delay_s, loss, is_unicast = float(sys.argv[1]) / 1000.0, float(sys.argv[2]), "unicast" in sys.argv[3:]
    try:
        ends = [End(number) for number in (1, 2)]
    except (OSError, AttributeError, subprocess.CalledProcessError) as why:
        print(f"no network namespaces with a link here: {why}")
        return NOT_HERE
    print("namespaces", *(end.namespace for end in ends), flush=True)
    ways = [Way(ends[0], ends[1], delay_s, loss, is_unicast, 1), Way(ends[1], ends[0], delay_s, loss, is_unicast, 2)]
    carry(ways, {"down": ends[0].down, "up": ends[0].up})
    carried, lost, udp = (sum(counts) for counts in zip(*((way.carried, way.lost, way.udp) for way in ways)))
    print(f"carried {carried} frames, lost {lost}, sent {udp} with UDP")
    return 0


class End:
    """A network namespace with its device."""

    def __init__(self, number):
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.unshare(CLONE_NEWNET) != 0:
            error = ctypes.get_errno()
            raise OSError(error, f"unshare: {os.strerror(error)}")
        # The namespace lives as long as this file is open; other processes enter it by this path.
        self.namespace = f"/proc/{os.getpid()}/fd/{os.open('/proc/self/ns/net', os.O_RDONLY)}"
        self.device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(self.device, TUNSETIFF, struct.pack("16sH22x", NAME.encode(), IFF_TAP | IFF_NO_PI))
        self.run("ip", "address", "add", f"10.77.0.{number}/24", "dev", NAME)
        self.run("ip", "link", "set", "lo", "up")
        self.up()

    def run(self, *command):
        subprocess.run(["nsenter", f"--net={self.namespace}", *command], check=True, stdin=subprocess.DEVNULL, timeout=10)

    def up(self):
        self.run("ip", "link", "set", NAME, "up")
        # The kernel deletes this route when the device goes down.
        self.run("ip", "route", "replace", "224.0.0.0/4", "dev", NAME)

    def down(self):
        self.run("ip", "link", "set", NAME, "down")


class Way:
    """One direction of the link, from one end to the other."""

    def __init__(self, source, sink, delay_s, loss, is_unicast, seed):
        self.source, self.sink, self.delay_s, self.loss, self.is_unicast = source, sink, delay_s, loss, is_unicast
        self.chance = random.Random(seed)
        self.under_way = deque()
        self.carried = self.lost = self.udp = 0

    def take(self):
        while True:
            try:
                frame = os.read(self.source.device, FRAME_BYTES_MAX)
            except OSError:
                # No frame is left, or the device is down.
                return
            self.udp += is_udp(frame)
            if self.is_unicast and frame[:3] == b"\x01\x00\x5e":
                continue
            if self.chance.random() < self.loss:
                self.lost += 1
            else:
                self.under_way.append((time.monotonic() + self.delay_s, frame))

    def give(self):
        while self.under_way and self.under_way[0][0] <= time.monotonic():
            _, frame = self.under_way.popleft()
            try:
                os.write(self.sink.device, frame)
                self.carried += 1
            except OSError:
                # The device is down: frames under way are lost.
                self.lost += 1

    def wait_s(self):
        return max(0.0, self.under_way[0][0] - time.monotonic()) if self.under_way else 1.0


def is_udp(frame):
    """Whether an Ethernet frame carries UDP over IPv4. The kernel itself sends other frames (ARP, IPv6, IGMP)."""
    return frame[12:14] == b"\x08\x00" and frame[23:24] == b"\x11"


def carry(ways, orders):
    """Carries frames and obeys orders until standard input ends."""
    by_device = {way.source.device: way for way in ways}
    while True:
        ready, _, _ = select.select([*by_device, sys.stdin], [], [], min(way.wait_s() for way in ways))
        for device in by_device.keys() & set(ready):
            by_device[device].take()
        for way in ways:
            way.give()
        if sys.stdin in ready:
            order = sys.stdin.readline().strip()
            if not order:
                return
            orders[order]()
            print(f"the link is {order}", flush=True)


sys.exit(main())
