"""The request ``modules``: those of Java, with the class loaders that have no names for theirs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jvmti.adapter.protocol.arguments import Arguments
from jvmti.adapter.protocol.requests import answers
from jvmti.text.printable import printable

if TYPE_CHECKING:
    from jvmti.adapter.debug_session import DebugSession


class ModuleRequests:
    """Answers requests about modules.

    Args:
        session: what requests share.
    """

    def __init__(self, session: DebugSession) -> None:
        self._session = session

    @answers("modules")
    def modules(self, given: Arguments) -> dict[str, Any]:
        """The modules of the program, or a page of them."""
        vm = self._session.vm
        found = [] if vm.held else list(vm.modules)
        start = max(given.number("startModule", 0), 0)
        count = given.number("moduleCount", 0)
        page = found[start : start + count if count > 0 else None]
        return {
            "modules": [
                {
                    "id": number,
                    "name": printable(one.name) or f"unnamed, of {_loader(one)}",
                    "isUserCode": not (one.name or "").startswith(("java.", "jdk.")),
                }
                for number, one in enumerate(page, start)
            ],
            "totalModules": len(found),
        }


def _loader(module: Any) -> str:
    loader = module.loader
    return "the bootstrap loader" if loader is None else printable(loader.description)


__all__ = ["ModuleRequests"]
