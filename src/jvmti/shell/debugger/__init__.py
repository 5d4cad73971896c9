"""The debugger of a prompt: ``%break``, ``%next``, ``%locals``, with the words that gdb has.

`requests`      the commands that set and delete breakpoints, watchpoints and catchpoints
`steps`         those that let threads run
`frames`        those that show a stopped thread: stack, variables, values, source
`debugging`     what these work on: requests by number, stopped threads, the selected frame
`break_places`  places as one writes them
`source_lines`  lines of source with their numbers
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jvmti.model.vm import VM
    from jvmti.shell.debugger.debugging import Debugging


def debugger_of(vm: VM, names: Mapping[str, Any]) -> Debugging:
    """The debugger of a prompt, whose modules are imported at its first use."""
    from jvmti.shell.debugger.debugging import debugging

    return debugging(vm, names)
