"""A stack tree as a flame graph: the width of a frame is its share of all stacks."""

from __future__ import annotations

import zlib

from jvmti.heap.html.elements import Content, Element, element, paragraph
from jvmti.stacks.tree import StackNode, StackTree

__all__ = ["flames"]

_LEAST = 0.002
"""The smallest share of a frame to draw."""
_MOST = 2000
"""The most levels of frames to draw."""
_HEIGHT = 18


def flames(tree: StackTree) -> list[Content]:
    """The elements: every frame is positioned by itself, none inside another.

    A browser fails on elements nested some hundreds deep, and stacks are deeper.
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
                    drawn.append(_frame(tree, child, at, part, depth))
                    deepest = depth + 1
                    below.append((at, child))
                else:
                    left_out += 1
                at += part
        level = below
        depth += 1
    graph = element("div", *drawn, class_="frames", style=f"height:{deepest * _HEIGHT}px")
    about = f"{repr(tree)[1:-1]}; the outermost frames are on top"
    if left_out:
        about += f"; frames on less than {_LEAST:.1%} of the stacks are left out"
    return [element("div", graph, class_="flames", tabindex="0"), paragraph(about)]


def _frame(tree: StackTree, node: StackNode, left: float, width: float, depth: int) -> Element:
    style = f"left:{left:.3%};width:{width:.3%};top:{depth * _HEIGHT}px;--hue:{_hue(node.name)}"
    own = tree.amount(node.ends).removesuffix(" stacks")
    ends = f", {own} of them end here" if node.ends else ""
    title = f"{node.name}: on {tree.amount(node.count)} ({width:.1%}){ends}"
    label = _short(node.name) if width > 0.01 else ""
    return element("div", label, class_="frame", style=style, title=title)


def _hue(name: str) -> int:
    """All frames of one package have one colour, the same in every graph."""
    package = ".".join(name.split(".")[:3]) if name.count(".") > 2 else name.partition(".")[0]
    return zlib.crc32(package.encode("utf-8", "replace")) % 360


def _short(name: str) -> str:
    """Class and method without the package."""
    return ".".join(name.rsplit(".", 2)[-2:])
