"""Numbers made readable."""

from __future__ import annotations


def quantity(number: int, thing: str) -> str:
    """A number of things: ``1 class``, ``2,500 classes``.

    Args:
        number: how many.
        thing: what one of them is called.
    """
    if number == 1:
        return f"1 {thing}"
    if thing.endswith("y"):
        thing = f"{thing[:-1]}ies"
    else:
        thing += "es" if thing.endswith(("s", "ch", "x")) else "s"
    return f"{number:,} {thing}"


def duration(seconds: float) -> str:
    """A readable time: ``850 ms``, ``3.2 s``, ``4 min 10 s``, ``2 d 3 h``."""
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
    """A readable number of bytes: ``640 KB``, ``1.5 GB``."""
    value = float(number)
    for unit in ("bytes", "KB", "MB", "GB"):
        if value < 1024 or unit == "GB":
            break
        value /= 1024
    return f"{value:.0f} {unit}" if unit == "bytes" or value >= 100 else f"{value:.1f} {unit}"


def processor_time(nanoseconds: int | None) -> str:
    """A processor time in milliseconds or seconds; a dash if unknown."""
    if nanoseconds is None:
        return "-"
    seconds = nanoseconds / 1e9
    if seconds < 1:
        return f"{seconds * 1000:.1f} ms"
    return f"{seconds:.2f} s"


__all__ = ["duration", "processor_time", "quantity", "size"]
