"""Which function that calls Python back is made by which module."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jvmti.events import agent_thread
from jvmti.events import heap_walks as heap_walk
from jvmti.events.extensions import Extensions
from jvmti.events.jni_interception import JniCalls

if TYPE_CHECKING:
    from jvmti.env.environment import Env
    from jvmti.interface.declaration import Declaration
    from jvmti.wire.session import Session

_MADE_BY = {
    "run_agent_thread": agent_thread.run,
    "follow_references": heap_walk.walk,
    "iterate_through_heap": heap_walk.walk,
    "iterate_over_objects_reachable_from_object": heap_walk.walk,
    "iterate_over_reachable_objects": heap_walk.walk,
    "iterate_over_heap": heap_walk.walk,
    "iterate_over_instances_of_class": heap_walk.walk,
}


class Callbacks:
    """The functions of a session that take a callback."""

    def __init__(self, session: Session) -> None:
        self.jni = JniCalls(session)
        self.extensions = Extensions(session)
        self._made_by = {
            **_MADE_BY,
            "set_jni_function_table": self.jni.set,
            "set_extension_event_callback": self.extensions.set,
        }

    def call(
        self,
        env: Env,
        declaration: Declaration,
        arguments: tuple[Any, ...],
        timeout: float | None,
    ) -> Any:
        """Call one of them."""
        made_by = self._made_by[declaration.name]
        return made_by(env, declaration, arguments, timeout)


__all__ = ["Callbacks"]
