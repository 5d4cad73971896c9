"""The modules that implement the functions with callbacks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jvmti.events import agent_thread
from jvmti.events.extensions import Extensions
from jvmti.events.jni_interception import JniCalls
from jvmti.interface.declaration import CallbackOf

if TYPE_CHECKING:
    from jvmti.env.environment import Env
    from jvmti.interface.declaration import Declaration
    from jvmti.wire.session import Session


class Callbacks:
    """The functions of a session that take a callback."""

    def __init__(self, session: Session) -> None:
        self.jni = JniCalls(session)
        self.extensions = Extensions(session)
        self._made_by = {
            CallbackOf.HEAP_WALK: _walk,
            CallbackOf.AGENT_THREAD: agent_thread.run,
            CallbackOf.JNI_FUNCTIONS: self.jni.set,
            CallbackOf.EXTENSION_EVENT: self.extensions.set,
        }

    def call(
        self,
        env: Env,
        declaration: Declaration,
        arguments: tuple[Any, ...],
        timeout: float | None,
    ) -> Any:
        """Call one of them."""
        assert declaration.callback is not None
        made_by = self._made_by[declaration.callback]
        return made_by(env, declaration, arguments, timeout)


def _walk(env: Env, declaration: Declaration, *rest: Any) -> Any:
    from jvmti.events import heap_walks  # few programs walk the heap

    return heap_walks.walk(env, declaration, *rest)


__all__ = ["Callbacks"]
