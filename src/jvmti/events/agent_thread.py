"""Agent threads: a Python thread and a Java thread with a channel of their own."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Any

from jvmti.interface.errors import JavaException, SessionClosed, TargetLost
from jvmti.layouts.conversations import CallbackMode
from jvmti.wire.codecs import codec_of

if TYPE_CHECKING:
    from jvmti.env.environment import Env
    from jvmti.interface.declaration import Declaration

log = logging.getLogger("jvmti")


def run(
    env: Env, declaration: Declaration, arguments: tuple[Any, ...], timeout: float | None
) -> None:
    """Start a Java thread, and the Python thread that it serves."""
    thread, proc, arg, priority = arguments
    if not callable(proc):
        raise TypeError(
            f"{declaration.name}() argument proc must be callable, not {type(proc).__name__}"
        )
    session = env._session
    payload = codec_of(declaration).encode(session, (thread, CallbackMode.AT_ONCE, None, priority))
    channel = session.open_with(declaration, env._number, payload, timeout)

    def body() -> None:
        session.adopt(channel)
        try:
            proc(arg)
        except (SessionClosed, TargetLost) as error:
            log.debug("an agent thread: %s", error)
        except JavaException as error:
            if not error.thrown:  # the Java thread ends with it
                log.exception("the function of an agent thread failed")
        except Exception:
            log.exception("the function of an agent thread failed")
        finally:
            session.adopt(None)
            channel.close()

    name = getattr(proc, "__name__", type(proc).__name__)
    threading.Thread(target=body, name=f"jvmti agent thread {name}", daemon=True).start()


__all__ = ["run"]
