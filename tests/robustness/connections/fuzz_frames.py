"""Mutated protocol frames by the million, on one JVM.

    python tests/robustness/connections/fuzz_frames.py --jvm 17 --frames 1000000 --seed 1

Frames that would be good are damaged: bits flipped, cut off, extended, of another kind, with
another length; descriptors of everything but good shared memory go along unasked.  A walk over the
damaged bytes, which reads them as the agent will, replaces the functions that are never called at
random (see `random_calls`) by others.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import select
import socket
import struct
import sys
import time
from collections import Counter
from pathlib import Path

TESTS = Path(__file__).parents[2]
sys.path.insert(0, str(TESTS))

import compiler  # noqa: E402
import jvms  # noqa: E402
import jvmti  # noqa: E402
import programs  # noqa: E402
from jvmti.env.interface import FUNCTIONS  # noqa: E402
from jvmti.wire import protocol  # noqa: E402
from jvmti.wire.channel import HEADER  # noqa: E402
from jvmti.wire.protocol import Flag, Kind  # noqa: E402
from robustness import steady  # noqa: E402
from robustness.calls import random_calls  # noqa: E402

PER_STREAM = 100
PER_SESSION = 20_000
_ENTRY = struct.Struct("<HII")
_HARMLESS = [
    FUNCTIONS[name].number for name in ("get_phase", "get_thread_state", "get_class_status")
]


class Frames:
    """Makes streams of damaged frames."""

    def __init__(self, fuzzer: random_calls.Fuzzer) -> None:
        self.fuzzer = fuzzer
        self.random = fuzzer.random
        allowed = {one.number for one in fuzzer.functions} - fuzzer.targets_only
        # Damage must not turn a handle of the prey into another, so what changes or stops things
        # is left to the fuzzer of calls, as is what is slow.
        slow = {one.number for one in fuzzer.functions if one.name in random_calls.HEAVY}
        self.allowed = allowed - slow
        self.functions = [one for one in fuzzer.functions if one.number in self.allowed]

    def good(self) -> bytes:
        rng = self.random
        chance = rng.random()
        if chance < 0.1:
            payload = b"".join(
                struct.pack("<QI", self.fuzzer.garbage(), rng.choice([0, 1, 2**32 - 1]))
                for _ in range(rng.choice([0, 1, 5]))
            )
            return (
                HEADER.pack(len(payload), Kind.RELEASE, 0, 0, rng.getrandbits(32), 0, 0) + payload
            )
        if chance < 0.13:
            events = rng.choice([0, Flag.EVENTS])
            return HEADER.pack(0, Kind.OPEN, events, 0, rng.getrandbits(32), 0, 0)
        if chance < 0.16:
            name = b"n" * rng.choice([0, 5, 300])
            return HEADER.pack(len(name), Kind.HELLO, 0, 0, rng.getrandbits(32), 0, 0) + name
        if chance < 0.18:
            kind = rng.choice([Kind.ANSWER, Kind.ABANDON])
            return HEADER.pack(0, kind, 0, 0, rng.choice([0, 1]), 0, rng.choice([0, 1, 2**32 - 1]))
        if chance < 0.3:
            parts = []
            for declaration in rng.choices(self.functions, k=rng.choice([0, 1, 3])):
                data = self.fuzzer.arguments(declaration)
                parts.append(_ENTRY.pack(declaration.number, 1, len(data)) + data)
            payload = struct.pack("<I", len(parts)) + b"".join(parts)
            return HEADER.pack(len(payload), Kind.BATCH, 0, 0, rng.getrandbits(32), 0, 0) + payload
        declaration = rng.choice(self.functions)
        if chance < 0.45:
            inputs = random_calls.codec_of(declaration).inputs
            rows = rng.choice([0, 1, 3])
            parts = []
            for name, shape in inputs:
                column = rng.random() < 0.5
                one = [
                    self.fuzzer.value(shape, name, declaration.name, False)
                    for _ in range(rows if column else 1)
                ]
                data = b"".join(one)
                parts.append(struct.pack("<BI", column, len(data)) + data)
            payload = struct.pack("<IB", rows, len(parts)) + b"".join(parts)
            flags = 4 if rng.random() < 0.1 else 0
            return HEADER.pack(len(payload), Kind.MAP, flags, declaration.number, 1, 1, 0) + payload
        payload = self.fuzzer.arguments(declaration)
        return HEADER.pack(len(payload), Kind.CALL, 0, declaration.number, 1, 1, 0) + payload

    def damaged(self) -> bytes:
        rng = self.random
        frame = bytearray(self.good())
        for _ in range(rng.choice([1, 1, 2, 5])):
            how = rng.random()
            at = rng.randrange(len(frame))
            if how < 0.45:
                frame[at] ^= 1 << rng.randrange(8)
            elif how < 0.6:
                frame[at] = rng.choice([0, 1, 0x7F, 0x80, 0xFF])
            elif how < 0.7:
                frame[4] = rng.choice([*range(1, 10), 32, 33, 34, 255])
            elif how < 0.8:
                frame += rng.randbytes(rng.choice([1, 4, 30]))
            elif how < 0.9 and len(frame) > HEADER.size:
                del frame[rng.randrange(HEADER.size, len(frame)) :]
            elif how < 0.95:
                start = rng.randrange(len(frame))
                frame[at:at] = frame[start : start + rng.randrange(9)]
            else:
                struct.pack_into("<I", frame, 0, rng.choice([0, 1, len(frame), 2**31, 2**32 - 1]))
        if rng.random() < 0.9:
            # Mostly a length that fits, so that the rest of the damage is looked at.
            frame += bytes(max(0, HEADER.size - len(frame)))
            struct.pack_into("<I", frame, 0, len(frame) - HEADER.size)
        return bytes(frame)

    def stream(self) -> tuple[bytes, int]:
        """Some damaged frames, made harmless, and how many the agent will see."""
        data = bytearray(b"".join(self.damaged() for _ in range(PER_STREAM)))
        at = seen = 0
        while at + HEADER.size <= len(data):
            size, kind = struct.unpack_from("<IB", data, at)
            seen += 1
            if size > protocol.LIMITS.REQUEST:
                break
            if kind == Kind.GOODBYE:
                data[at + 4] = kind = 255
            if kind in (Kind.CALL, Kind.MAP):
                self._repair(data, at + 6)
            if kind == Kind.BATCH:
                self._repair_batch(data, at + HEADER.size, min(at + HEADER.size + size, len(data)))
            at += HEADER.size + size
        return bytes(data), seen

    def _repair(self, data: bytearray, at: int) -> None:
        if at + 2 > len(data):
            return
        (number,) = struct.unpack_from("<H", data, at)
        known = {one.number for one in self.fuzzer.functions} | self.fuzzer.never
        if number in known and number not in self.allowed:
            struct.pack_into("<H", data, at, self.random.choice(_HARMLESS))

    def _repair_batch(self, data: bytearray, at: int, end: int) -> None:
        at += 4
        while at + _ENTRY.size <= end:
            self._repair(data, at)
            at += _ENTRY.size + _ENTRY.unpack_from(data, at)[2]


class Descriptors:
    """What no agent expects to be handed."""

    def __init__(self) -> None:
        self.pipe = os.pipe()
        self.unsealed = os.memfd_create("unsealed", os.MFD_ALLOW_SEALING)
        os.ftruncate(self.unsealed, 4096)
        self.empty = os.memfd_create("empty", os.MFD_ALLOW_SEALING)
        self.null = os.open("/dev/null", os.O_RDWR)
        self.folder = os.open("/", os.O_RDONLY)
        self.datagram = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.internet = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self.all = [
            *self.pipe, self.unsealed, self.empty, self.null, self.folder,
            self.datagram.fileno(), self.internet.fileno(),
        ]  # fmt: skip

    def close(self) -> None:
        for one in (*self.pipe, self.unsealed, self.empty, self.null, self.folder):
            os.close(one)
        self.datagram.close()
        self.internet.close()


def deliver(channel: socket.socket, data: bytes, passed: list[int], kinds: Counter[int]) -> None:
    """Send a stream, read all answers, and see the agent end the channel."""
    channel.setblocking(False)
    waiting = select.poll()
    rest = memoryview(data)
    deadline = time.monotonic() + 60
    answers = bytearray()
    while True:
        waiting.register(channel, select.POLLIN | (select.POLLOUT if rest else 0))
        ready = waiting.poll((deadline - time.monotonic()) * 1000)
        assert ready, "the agent neither takes nor answers"
        try:
            if rest and ready[0][1] & select.POLLOUT:
                if passed:
                    sent = socket.send_fds(channel, [rest[:4096]], passed)
                    passed = []
                else:
                    sent = channel.send(rest[: 256 * 1024])
                rest = rest[sent:]
                if not rest:
                    channel.shutdown(socket.SHUT_WR)
            if ready[0][1] & (select.POLLIN | select.POLLHUP):
                got = channel.recv(1 << 20)
                if not got:
                    break
                answers += got
        except BlockingIOError:
            continue
        except (BrokenPipeError, ConnectionResetError):
            break
    at = 0
    while at + HEADER.size <= len(answers):
        size, kind = struct.unpack_from("<IB", answers, at)
        kinds[kind] += 1
        at += HEADER.size + size
    channel.close()


def fuzz(
    target: steady.Steady, frames: int, seed: int, seconds: float = 1e9
) -> tuple[int, Counter[int]]:
    """Send damaged frames until there are enough; give their number and the kinds of answers."""
    fuzzer = random_calls.Fuzzer(seed)
    fuzzer.template = (compiler.classes("Steady") / "Steady$Spare.class").read_bytes()
    jvmti.attach(target.pid).detach()  # the VM's own attach listener comes with the first
    descriptors = Descriptors()
    until = time.monotonic() + seconds
    sent = 0
    kinds: Counter[int] = Counter()
    rng = random.Random(seed)
    try:
        while sent < frames and time.monotonic() < until:
            before = target.at_rest()
            vm = jvmti.attach(target.pid)
            try:
                fuzzer.begin(vm)
                made = Frames(fuzzer)
                start = sent
                while sent - start < PER_SESSION and sent < frames:
                    data, seen = made.stream()
                    passed = rng.choices(descriptors.all, k=rng.choice([0, 0, 1, 2, 6]))
                    opened = vm._session.open(30)
                    deliver(opened.socket, data, passed, kinds)
                    sent += seen
                    if time.monotonic() > until:
                        break
                assert vm.env.get_phase() == 4, "the agent does not answer"
                fuzzer.end()
            finally:
                vm.detach(timeout=60)
            assert target.program.running(), target.program.crash()
            assert target.settles_at(before), (before, target.footprint())
            assert target.prey_runs(), target.program.ask("stacks")
            assert target.locks_are_free(), "a lock of the program is held"
    finally:
        descriptors.close()
    return sent, kinds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jvm", default="17")
    parser.add_argument("--frames", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    begun = time.monotonic()
    with programs.of_script(jvms.named(chosen.jvm), "frames") as started:
        sent, kinds = fuzz(steady.launch(started, spins=True), chosen.frames, chosen.seed)
    names = {int(kind): kind.name.lower() for kind in Kind}
    print(
        json.dumps(
            {
                "jvm": chosen.jvm,
                "seed": chosen.seed,
                "frames": sent,
                "seconds": round(time.monotonic() - begun),
                "answers": {names.get(kind, str(kind)): n for kind, n in sorted(kinds.items())},
            }
        )
    )


if __name__ == "__main__":
    main()
