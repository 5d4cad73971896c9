"""Elements of HTML, built as a tree and escaped when it is serialized.

So no name from a target can inject markup.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from xml.etree import ElementTree

from jvmti.text.printable import printable

__all__ = [
    "Content",
    "Element",
    "element",
    "in_bytes",
    "and_more",
    "paragraph",
    "percentage",
    "table",
    "to_html",
]

Element = ElementTree.Element
Content = str | Element


def element(tag: str, *content: Content, **attributes: str) -> Element:
    """An element with texts and elements inside; unprintable characters become escapes.

    A trailing underscore of an attribute's name is removed: ``class_``.
    """
    made = Element(tag, {name.rstrip("_"): printable(text) for name, text in attributes.items()})
    last: Element | None = None
    for one in content:
        if not isinstance(one, str):
            made.append(one)
            last = one
        elif last is None:
            made.text = (made.text or "") + printable(one)
        else:
            last.tail = (last.tail or "") + printable(one)
    return made


def to_html(element: Element) -> str:
    """The element as HTML."""
    return ElementTree.tostring(element, encoding="unicode", method="html")


def paragraph(text: str) -> Element:
    """A paragraph."""
    return element("p", text)


def in_bytes(size: int) -> str:
    """A number of bytes with a unit."""
    number = float(size)
    for unit in ("bytes", "kB", "MB", "GB"):
        if number < 999.5 or unit == "GB":
            break
        number /= 1000
    return f"{size:,} bytes" if unit == "bytes" else f"{number:.3g} {unit}"


def percentage(size: int, whole: int) -> str:
    """A part of a whole as a percentage."""
    return f"{size / max(whole, 1):.1%}"


def table(heads: Sequence[str], rows: Iterable[Sequence[object]], rest: str = "") -> Element:
    """A table; numbers are aligned right, and their column sorts by number."""
    body = element("tbody")
    for row in rows:
        line = ElementTree.SubElement(body, "tr")
        for cell in row:
            match cell:
                case None:
                    line.append(element("td", "–"))
                case int():
                    line.append(element("td", f"{cell:,}", class_="n"))
                case float():
                    line.append(element("td", f"{cell:.1%}", class_="n"))
                case Element():
                    line.append(element("td", cell))
                case _:
                    line.append(element("td", str(cell)))
    if not len(body):
        return element("p", "None.", class_="none")
    first = body[0]
    head = element("tr")
    for text, cell in zip(heads, first, strict=True):
        head.append(element("th", text, class_=cell.get("class", ""), scope="col"))
    scrolled = element(
        "div",
        element("table", element("thead", head), body),
        class_="table",
        tabindex="0",
        role="region",
    )
    return element("div", scrolled, *([element("p", rest, class_="rest")] if rest else []))


def and_more(total: int, listed: int, what: str) -> str:
    """How many are not shown, as a phrase; empty if none."""
    return f"and {total - listed:,} more {what}" if total > listed else ""
