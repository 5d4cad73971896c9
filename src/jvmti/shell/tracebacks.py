"""Tracebacks at a prompt."""

from __future__ import annotations

from types import TracebackType


def without_our_frames(trace: TracebackType | None) -> TracebackType | None:
    """A traceback that ends at the call into this package: frames inside it help no user."""
    links = []
    link = trace
    while link is not None:
        links.append(link)
        link = link.tb_next
    modules = [str(link.tb_frame.f_globals.get("__name__")) for link in links]
    # A user's handler that this package calls stays visible.
    last = max((at for at, name in enumerate(modules) if name == "__main__"), default=-1)
    ours = [at for at, name in enumerate(modules) if name.startswith("jvmti.") and at > last]
    if not ours or last < 0:
        return trace
    made = None
    for link in reversed(links[: ours[0]]):
        made = TracebackType(made, link.tb_frame, link.tb_lasti, link.tb_lineno)
    return made


__all__ = ["without_our_frames"]
