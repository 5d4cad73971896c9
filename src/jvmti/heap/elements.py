"""Elements of HTML, built as a tree and escaped when that is written.

So no name of a target can become a part of a page, whatever it consists of.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from xml.etree import ElementTree

from jvmti.spec.text import printable

__all__ = [
    "Content",
    "Element",
    "element",
    "in_bytes",
    "more",
    "said",
    "share",
    "table",
    "written",
]

Element = ElementTree.Element
Content = str | Element


def element(tag: str, *content: Content, **attributes: str) -> Element:
    """An element with texts and elements inside; what is not printable becomes escapes.

    An underscore at the end of an attribute's name is left out: ``class_``.
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


def written(element: Element) -> str:
    """The element as HTML."""
    return ElementTree.tostring(element, encoding="unicode", method="html")


def said(text: str) -> Element:
    """A paragraph."""
    return element("p", text)


def in_bytes(size: int) -> str:
    """Bytes for people."""
    number = float(size)
    for unit in ("bytes", "kB", "MB", "GB"):
        if number < 999.5 or unit == "GB":
            break
        number /= 1000
    return f"{size:,} bytes" if unit == "bytes" else f"{number:.3g} {unit}"


def share(size: int, whole: int) -> str:
    """A part of a whole in percent."""
    return f"{size / max(whole, 1):.1%}"


def table(heads: Sequence[str], rows: Iterable[Sequence[object]], rest: str = "") -> Element:
    """A table; numbers stand on the right, and are what their column is sorted by."""
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


def more(all_: int, shown: int, what: str) -> str:
    """How many more there are than those that are shown; empty if there are none."""
    return f"and {all_ - shown:,} more {what}" if all_ > shown else ""
