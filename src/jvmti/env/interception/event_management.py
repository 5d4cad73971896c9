"""Events: their callbacks, switching them on and off, and sending missed ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from jvmti.interface.calling import Calling
from jvmti.interface.constants import Event, EventMode
from jvmti.interface.declaration import LIVE, ONLOAD, CallbackOf, function
from jvmti.refs import Thread


class EventManagementFunctions(Calling):
    """The functions of the chapter "Event Management"."""

    __slots__ = ()

    @function(122, phase=ONLOAD, callback=CallbackOf.EVENT)
    def set_event_callbacks(
        self, callbacks: Mapping[Event | str, Callable[..., Any]] | None = None
    ) -> None:
        """Set the callbacks of this environment, all at once.

        The VM sends an event if it has a callback and `set_event_notification_mode` has enabled it.
        As in C, callbacks receive all events, even those that this session's own calls and
        callbacks cause; `on` leaves these out. A callback that causes its own event again receives
        it recursively, up to 16 deep; ``vm.stats.agent.events_too_deep`` counts deeper ones.
        Threads that serve a session cause no events when they begin and end.

        The VM sends ``GarbageCollectionStart``, ``GarbageCollectionFinish`` and ``ObjectFree``
        while it is stopped and cannot wait: their callbacks run afterwards, in the order of the
        events, on a thread of their own in this process. Their `late` is true, and they may call
        everything. Removing callbacks waits for pending ones.

        Args:
            callbacks: the function for each event, by constant or name; other events lose theirs,
                ``None`` removes them all.

        Example:
            >>> from jvmti.interface.constants import Event, EventMode
            >>> def stopped(event):
            ...     print("in", event.method.name)
            >>> env.set_event_callbacks({Event.BREAKPOINT: stopped})
            >>> env.set_event_notification_mode(EventMode.ENABLE, Event.BREAKPOINT)
            >>> env.set_breakpoint(price, 0)
            >>> jni.call_static_int_method(shop, price, [3])
            in price
            15
            >>> env.clear_breakpoint(price, 0)
            >>> env.set_event_notification_mode(EventMode.DISABLE, Event.BREAKPOINT)
            >>> env.set_event_callbacks(None)

        JVM TI: SetEventCallbacks.
        """

    @function(
        2,
        phase=ONLOAD,
        errors=(
            "INVALID_THREAD",
            "THREAD_NOT_ALIVE",
            "ILLEGAL_ARGUMENT",
            "MUST_POSSESS_CAPABILITY",
        ),
        guard="event_mode",
        overridden=True,
    )
    def set_event_notification_mode(
        self, mode: EventMode | str, event_type: Event | str, event_thread: Thread | None = None
    ) -> None:
        """Switch an event on or off, for all threads or for one.

        The VM sends an event if it is enabled globally or for its thread.

        Args:
            mode: on or off, ``ENABLE`` or ``DISABLE``.
            event_type: the event.
            event_thread: the thread; ``None`` is all of them.

        Raises:
            InvalidEventType: there is no event with the number `event_type`.
            InvalidThread: `event_thread` is not a thread.
            ThreadNotAlive: `event_thread` has not started or has ended.
            IllegalArgument: the event cannot be controlled for single threads.
            MustPossessCapability: the capability that the event needs has not been added.

        Example:
            >>> from jvmti.interface.constants import Event, EventMode
            >>> def thrown(event):
            ...     print(event.exception.cls.name)
            >>> env.set_event_callbacks({Event.EXCEPTION: thrown})
            >>> env.set_event_notification_mode(EventMode.ENABLE, Event.EXCEPTION)
            >>> env.set_event_notification_mode(EventMode.DISABLE, Event.EXCEPTION)
            >>> env.set_event_callbacks(None)

        JVM TI: SetEventNotificationMode.
        """

    @function(
        123, phase=LIVE, errors=("MUST_POSSESS_CAPABILITY", "ILLEGAL_ARGUMENT"), runs_java=True
    )
    def generate_events(self, event_type: Event | str) -> None:
        """Send the events that describe the present state of the VM, for an agent that came late.

        It returns when all of them have been handled.

        Args:
            event_type: ``COMPILED_METHOD_LOAD`` or ``DYNAMIC_CODE_GENERATED``, enabled before.

        Raises:
            MustPossessCapability: ``can_generate_compiled_method_load_events`` has not been added,
                which the first of the two needs.
            IllegalArgument: it is another event.

        Example:
            >>> from jvmti.interface.constants import Event
            >>> names = []
            >>> with env.on("DynamicCodeGenerated", lambda event: names.append(event.name)):
            ...     env.generate_events(Event.DYNAMIC_CODE_GENERATED)
            >>> len(names) > 10  # what the VM generated before we came
            True

        JVM TI: GenerateEvents.
        """
