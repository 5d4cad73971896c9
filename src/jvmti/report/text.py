"""Text from a target made harmless, and numbers made readable."""

from __future__ import annotations

_SHORT = {0x09: "\\t", 0x0A: "\\n", 0x0D: "\\r"}


def printable(text: str | None, most: int | None = None) -> str:
    """Text from a target as a terminal can show it without obeying it.

    Control characters, escape sequences, marks that turn the direction of writing, lone surrogates
    and everything else that Unicode does not count as printable become backslash escapes.

    Args:
        text: the text; ``None`` gives the empty string.
        most: how many characters to show; what is cut off is replaced by an ellipsis.
    """
    if not text:
        return ""
    if not text.isprintable():
        text = "".join(char if char.isprintable() else _escape(ord(char)) for char in text)
    if most is not None and len(text) > most:
        return text[: max(most - 1, 0)] + "…"
    return text


def _escape(code: int) -> str:
    if code in _SHORT:
        return _SHORT[code]
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def duration(seconds: float) -> str:
    """A time as people say it: ``850 ms``, ``3.2 s``, ``4 min 10 s``, ``2 d 3 h``."""
    if seconds < 1:
        return f"{seconds * 1000:.3g} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    whole = int(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    if whole < 86400:
        return f"{whole // 3600} h {whole % 3600 // 60} min"
    return f"{whole // 86400} d {whole % 86400 // 3600} h"


def size(number: int) -> str:
    """A number of bytes as people say it: ``640 KB``, ``1.5 GB``."""
    value = float(number)
    for unit in ("bytes", "KB", "MB", "GB"):
        if value < 1024 or unit == "GB":
            break
        value /= 1024
    return f"{value:.0f} {unit}" if unit == "bytes" or value >= 100 else f"{value:.1f} {unit}"


def processor_time(nanoseconds: int | None) -> str:
    """A processor time in milliseconds or seconds; a dash where it is not known."""
    if nanoseconds is None:
        return "-"
    seconds = nanoseconds / 1e9
    if seconds < 1:
        return f"{seconds * 1000:.1f} ms"
    return f"{seconds:.2f} s"


__all__ = ["duration", "printable", "processor_time", "size"]
