"""Who waits looks a moment before it sleeps; where that is in vain it becomes rare."""

from __future__ import annotations

import itertools
import os
import socket
import threading
import time

import pytest

from jvmti.interface.errors import TargetLost
from jvmti.wire.channel import HEADER, Channel, Request
from jvmti.wire.protocol import Kind
from processors import one_processor


class Answering:
    """The other side of a channel: answers every request after a while."""

    def __init__(self, after: float) -> None:
        ours, self.theirs = socket.socketpair()
        self.channel = Channel(ours)
        self.looks = 0
        self.after = after
        look = self.channel._poll

        def counted(timeout: float) -> list[tuple[int, int]]:
            self.looks += 1
            return look(timeout)

        self.channel._poll = counted
        self.thread = threading.Thread(target=self.answer)
        self.thread.start()

    def answer(self) -> None:
        with self.theirs:
            while request := self.theirs.recv(HEADER.size):
                sequence = HEADER.unpack(request)[4]
                time.sleep(self.after)
                self.theirs.send(HEADER.pack(0, Kind.RETURN, 0, 0, sequence, 0, 0))

    def waits_with_looks(self, requests: int) -> int:
        """In how many of so many waits something was looked for."""
        looked = 0
        for _ in range(requests):
            before = self.looks
            self.channel.request(Request(Kind.CALL))
            looked += self.looks > before
        return looked

    def close(self) -> None:
        self.channel.close()
        self.thread.join()


needs_two = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="has one processor")


@needs_two
def test_looking_in_vain_becomes_rare() -> None:
    slow = Answering(after=0.002)
    first, later = slow.waits_with_looks(64), slow.waits_with_looks(128)
    slow.close()
    assert 3 <= first <= 8  # after 0, 1, 3, 7, 15 and 31 waits without
    assert later <= 3


@needs_two
def test_it_is_tried_again_until_it_pays() -> None:
    ours, theirs = socket.socketpair()
    channel = Channel(ours)
    for _ in range(20):
        channel._spin()
    assert channel._pause == 15

    theirs.send(b"something is there")
    for _ in range(200):
        channel._spin()
    assert channel._pause == 15, "it was there without looking for it"

    look, looks = channel._poll, itertools.count()
    channel._poll = lambda timeout: look(timeout) if next(looks) % 2 else []
    for _ in range(200):  # now it is seen at every second look
        channel._spin()
    assert channel._pause == 0
    channel.close()
    theirs.close()


def test_on_one_processor_nobody_looks() -> None:
    with one_processor():
        alone = Answering(after=0)
    assert alone.waits_with_looks(100) == 0
    alone.close()


def test_the_end_is_noticed_while_it_is_looked_for() -> None:
    ours, theirs = socket.socketpair()
    channel = Channel(ours)
    theirs.close()
    with pytest.raises(TargetLost):
        channel.next_event()
