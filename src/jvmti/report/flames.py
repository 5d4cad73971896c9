"""A stack tree as flames: each frame is as wide as the part of all stacks that it is on."""

from __future__ import annotations

import zlib

from jvmti.heap.html.elements import Content, Element, element, paragraph
from jvmti.stacks.tree import StackNode, StackTree

__all__ = ["flames"]

_LEAST = 0.002
"""The part of all stacks that a frame is on at least to be drawn."""
_MOST = 2000
"""Frames that are drawn, the outermost."""
_HEIGHT = 18


def flames(tree: StackTree) -> list[Content]:
    """The elements: frames stand on places of their own, none inside of another.

    A browser gives up on elements that are some hundreds deep, and stacks are deeper.
    """
    whole = tree.root.count
    if not whole:
        return [paragraph(f"{repr(tree)[1:-1]}: nothing to show")]
    drawn: list[Element] = []
    deepest = left_out = 0
    level: list[tuple[float, StackNode]] = [(0.0, tree.root)]
    depth = 0
    while level:
        below: list[tuple[float, StackNode]] = []
        for begin, node in level:
            at = begin
            for child in node.children:
                part = child.count / whole
                if part >= _LEAST and len(drawn) < _MOST:
                    drawn.append(_frame(child, at, part, depth))
                    deepest = depth + 1
                    below.append((at, child))
                else:
                    left_out += 1
                at += part
        level = below
        depth += 1
    shown = element("div", *drawn, class_="frames", style=f"height:{deepest * _HEIGHT}px")
    about = f"{repr(tree)[1:-1]}; the outermost frames are on top"
    if left_out:
        about += f"; what is on less than {_LEAST:.1%} of the stacks is left out"
    return [element("div", shown, class_="flames", tabindex="0"), paragraph(about)]


def _frame(node: StackNode, left: float, width: float, depth: int) -> Element:
    style = f"left:{left:.3%};width:{width:.3%};top:{depth * _HEIGHT}px;--hue:{_hue(node.name)}"
    ends = f", {node.ends:,} of them end here" if node.ends else ""
    title = f"{node.name}: on {node.count:,} stacks ({width:.1%}){ends}"
    label = _short(node.name) if width > 0.01 else ""
    return element("div", label, class_="frame", style=style, title=title)


def _hue(name: str) -> int:
    """Of one package all are of one colour, the same in every picture."""
    package = ".".join(name.split(".")[:3]) if name.count(".") > 2 else name.partition(".")[0]
    return zlib.crc32(package.encode("utf-8", "replace")) % 360


def _short(name: str) -> str:
    """Class and method without the package."""
    return ".".join(name.rsplit(".", 2)[-2:])
