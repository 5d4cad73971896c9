"""Which callbacks can be seen not to write the tag that they are given."""

from __future__ import annotations

import functools
import sys
from typing import Any

import pytest

from jvmti.events.tag_use import ReadTag, only_reads_tag

seen: list[Any] = []


class Visitor:
    """Callbacks that are methods and objects."""

    def reads(self, class_tag: int, size: int, tag: Any, length: int) -> Any:
        seen.append((class_tag, tag.value))

    def writes(self, class_tag: int, size: int, tag: Any, length: int) -> None:
        tag.value = size

    def __call__(self, class_tag: int, size: int, tag: Any, length: int) -> Any:
        return size if tag.value == 3 else length


def aliased(class_tag: int, size: int, tag: Any, length: int) -> None:
    other = tag
    other.value = 3


def handed_on(class_tag: int, size: int, tag: Any, length: int) -> None:
    seen.append(tag)


def by_name(class_tag: int, size: int, tag: Any, length: int) -> None:
    locals()["tag"].value = 9


def from_a_frame(class_tag: int, size: int, tag: Any, length: int) -> None:
    sys._getframe().f_locals["tag"].value = 9


def evaluated(class_tag: int, size: int, tag: Any, length: int) -> None:
    exec("tag.value = 9")


def closed_over(class_tag: int, size: int, tag: Any, length: int) -> Any:
    return lambda: tag


def replaced(class_tag: int, size: int, tag: Any, length: int) -> Any:
    tag = length
    return tag


def augmented(class_tag: int, size: int, tag: Any, length: int) -> None:
    tag.value += 1


def reads_twice(class_tag: int, size: int, tag: Any, length: int) -> Any:
    for _ in range(size):
        seen.append(tag.value)
    return class_tag, tag.value


READING = [
    lambda class_tag, size, tag, length: 0,
    lambda class_tag, size, tag, length: tag.value + size,
    reads_twice,
    Visitor().reads,
    Visitor(),
]
OTHERS = [
    aliased,
    handed_on,
    by_name,
    from_a_frame,
    evaluated,
    closed_over,
    replaced,
    augmented,
    Visitor().writes,
    lambda *given: given,
    lambda class_tag, size, tag, length: setattr(tag, "value", 1),
    functools.partial(reads_twice, 1),
    print,
]


@pytest.mark.parametrize("function", READING)
def test_reading_is_seen(function: Any) -> None:
    assert only_reads_tag(function, 2)


@pytest.mark.parametrize("function", OTHERS)
def test_anything_else_may_write(function: Any) -> None:
    assert not only_reads_tag(function, 2)


def test_a_tag_that_came_too_late_cannot_be_written() -> None:
    cell = ReadTag(5)
    assert cell.value == 5
    with pytest.raises(RuntimeError, match="does not show that it writes"):
        cell.value = 6
    assert repr(cell) == "TagCell(5)"
