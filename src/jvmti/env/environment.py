"""An environment: JVM TI with its own capabilities, tags and storage."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from jvmti.env.interface import FUNCTIONS, Functions
from jvmti.env.services import CALLBACKS, CAPABILITY_POOL, HANDLERS, STREAMS
from jvmti.interface.declaration import Declaration, name_of
from jvmti.text.printable import escaped
from jvmti.wire.batch import Batch, Deferred
from jvmti.wire.columns import Columns, map_call, map_here
from jvmti.wire.session import Session

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from jvmti.interface.constants import Event
    from jvmti.refs import Thread


_ASKS = frozenset(("add_capabilities", "get_potential_capabilities"))
"""Services that depend on what other environments hold."""


def _make_way(session: Session, declaration: Declaration, number: int) -> None:
    """Release capabilities that the model holds for itself, before several calls are sent
    together."""
    if declaration.name in _ASKS and (pool := session.services.find(CAPABILITY_POOL)) is not None:
        pool.make_way(Env(session, number))


class Env(Functions):
    """One JVM TI environment: a method for each of the 151 functions.

    Attributes:
        map: the same functions over columns, see `Mapped`.
    """

    __slots__ = ("__weakref__", "_number", "_session", "_timeout")

    def __init__(self, session: Session, number: int, timeout: float | None = None) -> None:
        self._session = session
        self._number = number
        self._timeout = timeout

    def _call(self, declaration: Declaration, arguments: tuple[Any, ...]) -> Any:
        overrides = self._session.overrides
        if overrides and (stand_in := overrides.get((self._number, declaration.name))) is not None:
            return stand_in(self, arguments)
        return self.call_natively(declaration, arguments)

    def call_natively(self, declaration: Declaration, arguments: tuple[Any, ...]) -> Any:
        """Call a function in the VM, whatever stands in for it here."""
        session = self._session
        if (
            declaration.name in _ASKS
            and (pool := session.services.find(CAPABILITY_POOL)) is not None
        ):
            return pool.call(self, declaration, arguments)
        if declaration.callback:
            return session.services[CALLBACKS].call(self, declaration, arguments, self._timeout)
        return session.call(declaration, self._number, arguments, self._timeout)

    @property
    def map(self) -> Mapped:
        """The same functions, each called once for every row of its column arguments.

        ``env.map.get_thread_state(threads)`` sends one message and returns `Columns` with NumPy
        arrays; a failing row has its error code in ``status`` and the others their results.
        """
        return Mapped(self._session, FUNCTIONS, self._number, self._timeout, self)

    def function(self, name: str) -> Callable[..., Any]:
        """A function by its name in the specification: ``env.function("GetJLocationFormat")``.

        Raises:
            LookupError: no function has that name; the message suggests similar names.
        """
        method: Callable[..., Any] = getattr(self, name_of(name, FUNCTIONS))
        return method

    @contextmanager
    def batch(self) -> Iterator[Any]:
        """Collect calls and send them as one message at the end of the block.

        Inside, each method returns a `Deferred`, whose ``result()`` is available afterwards::

            with env.batch() as batch:
                signature = batch.get_class_signature(cls)
                status = batch.get_class_status(cls)
            print(signature.result(), status.result())
        """
        batch = Batch(self._session)
        yield BatchedEnv(batch, self)
        batch.send()

    def on(
        self,
        event: Event | str,
        handler: Callable[[Any], Any],
        thread: Thread | None = None,
        timeout: Any = ...,
        *,
        own: bool = False,
        max_pause: float | None = None,
    ) -> Any:
        """Call a function for every event of a kind, while the event's thread waits for it.

        The function takes the event, an object of the event's class in `jvmti.env.events` with
        the specification's parameters as attributes.  Its calls run on the thread of the event.
        Its result answers an event that takes an answer: the new class file for
        ``ClassFileLoadHook``, the new address for ``NativeMethodBind``; ``None`` changes nothing.
        Functions for the same event run in the order of their registration.

        An exception of the function is reported once per place (`VM.handler_errors`, and the
        ``jvmti`` logger), and the event continues without an answer.

        Args:
            event: the event, as a constant or by name: ``"Breakpoint"``.
            handler: the function.
            thread: handle the events of this thread only, for events that allow it.
            timeout: seconds that the thread waits; ``None`` means without limit.  The default
                depends on the event: no limit for those that debuggers stop at, else 10 seconds.
            own: also receive events that this controller's own calls and handlers cause.
            max_pause: seconds that the program may be stopped at a time while classes get probes,
                where probes report the event (`Env.add_capabilities` of a session that emulates);
                they get them in steps then. ``None`` gives them to all at once.

        Returns:
            A `Handler`; leaving its ``with`` block, or calling ``cancel()``, ends it.

        Raises:
            ValueError: there is no such event, or it is one for streams only.
            MustPossessCapability: the capability that the event needs has not been added.
            IllegalArgument: the event cannot be enabled for single threads.
            PauseTooLong: a single class would stop the program for longer than ``max_pause``.

        JVM TI: SetEventCallbacks, SetEventNotificationMode.
        """
        named = {} if timeout is ... else {"timeout": timeout}
        return self._session.services[HANDLERS].on(
            self, event, handler, thread, own=own, max_pause=max_pause, **named
        )

    def stream(
        self,
        events: Event | str | Sequence[Event | str],
        *,
        thread: Thread | Sequence[Thread] | None = None,
        classes: str | Sequence[str] | None = None,
        methods: str | Sequence[str] | None = None,
        exceptions: str | Sequence[str] | None = None,
        subclasses: bool = True,
        min_duration: float | None = None,
        waits: bool = False,
        stack: int = 0,
        timestamps: bool = True,
        objects: bool = False,
        policy: str = "drop",
        size: int = 1 << 20,
        own: bool = False,
        max_pause: float | None = None,
    ) -> Any:
        """Record events in memory that both processes share; the program does not wait for Python.

        The agent writes a record of fixed size for each event, and `Stream` reads them as columns,
        with the names of threads, classes and methods.  All events can be streamed, those of the
        garbage collector as well.

        Patterns are those of the shell: ``*``, ``?`` and ``[…]``.  The target evaluates them once
        for each method or class, so that other events cost little.

        Args:
            events: one or several events, as constants or by name.
            thread: record the events of this thread, or these, only.
            classes: patterns for the class of the event's method, as in ``com.acme.*``; for events
                without a method, of its class or object.  One without a dot means a class of that
                name in any package, or nested in any class.
            methods: patterns for the name of the event's method.
            exceptions: patterns for the class of the exception, in any package if without a dot.
            subclasses: include subclasses of the ``exceptions``.
            min_duration: for events that end something (``MethodExit``, ``MonitorWaited``,
                ``MonitorContendedEntered``): its shortest duration in seconds; 0 records all. The
                records then have the duration.
            waits: for ``MonitorContendedEntered`` and ``MonitorWaited``, if they are among the
                events: record the place of the wait, as ``place``, and its length, as ``duration``,
                -1 if it began before the stream; and also its beginning, ``MonitorContendedEnter``
                or ``MonitorWait``, so that unfinished waits are known.
            stack: record this many frames of the thread's stack; at most 256.
            timestamps: record the time.
            objects: look up the class of objects also in very frequent events (field accesses and
                values of methods), which costs about 0.1 µs each.
            policy: what happens when a ring is full: ``"drop"`` drops the event and counts it,
                ``"wait"`` lets its thread wait for the reader.
            size: bytes for the records of one thread.  Up to 62 threads have a ring of their own,
                all others share one; memory is used as threads write.
            own: also record events that this controller's own calls and handlers cause.
            max_pause: as for `on`.

        Returns:
            A `Stream`; leaving its ``with`` block, or calling ``close()``, ends the recording.

        Raises:
            TypeError: an argument has the wrong type.
            ValueError: there is no such event, or an argument does not apply to it.
            MustPossessCapability: the capability that the event needs has not been added.
            IllegalArgument: the event cannot be enabled for single threads.
            PauseTooLong: a single class would stop the program for longer than ``max_pause``.

        JVM TI: SetEventCallbacks, SetEventNotificationMode.
        """
        return self._session.services[STREAMS].open(
            self,
            events,
            thread=thread,
            classes=classes,
            methods=methods,
            exceptions=exceptions,
            subclasses=subclasses,
            min_duration=min_duration,
            waits=waits,
            stack=stack,
            timestamps=timestamps,
            objects=objects,
            policy=policy,
            size=size,
            own=own,
            max_pause=max_pause,
        )

    def set_event_callbacks(
        self, callbacks: Mapping[Event | str, Callable[[Any], Any]] | None = None
    ) -> None:
        """Set the callbacks of this environment, all at once.

        The VM sends an event if it has a callback and `set_event_notification_mode` has enabled it.
        A callback takes the event and answers it like handlers of `on`; both can be used together.

        As in C, callbacks receive all events, even those that this session's own calls and
        callbacks cause.  A callback that causes its own event again receives it recursively, up to
        16 deep; deeper ones are counted in ``vm.stats.agent.events_too_deep``.  The
        threads that serve a session begin and end unseen.

        The VM sends ``GarbageCollectionStart``, ``GarbageCollectionFinish`` and ``ObjectFree``
        while it is stopped and cannot wait: their callbacks run afterwards, in the order of the
        events, on a thread of their own in this process. Their ``late`` is true, and they may call
        everything. Removing callbacks waits for pending ones.

        Args:
            callbacks: the function for each event, by constant or name; other events lose theirs,
                ``None`` removes them all.

        Raises:
            ValueError: there is no such event.

        JVM TI: SetEventCallbacks.
        """
        self._session.services[HANDLERS].set_callbacks(self, callbacks)

    def with_timeout(self, timeout: float | None) -> Env:
        """The same environment with a time limit on every call, in seconds.

        A call that overruns it raises `CallTimeout` and continues in the VM; a heap walk ends. The
        default limit of walks is 60 seconds.
        """
        return Env(self._session, self._number, timeout)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Env):
            return NotImplemented
        return self._session is other._session and self._number == other._number

    def __hash__(self) -> int:
        return hash((id(self._session), self._number))

    @escaped
    def __repr__(self) -> str:
        return f"<Env {self._number}>"


class BatchedEnv(Functions):
    """An environment inside a batch: methods give a `Deferred`."""

    __slots__ = ("_batch", "_env", "_number")

    def __init__(self, batch: Batch, env: Env) -> None:
        self._batch = batch
        self._env = env
        self._number = env._number

    def _call(self, declaration: Declaration, arguments: tuple[Any, ...]) -> Deferred:
        if declaration.callback:
            raise TypeError(f"{declaration.name}() calls back, which a batch does not support")
        stand_in = self._batch.session.overrides.get((self._number, declaration.name))
        if stand_in is not None:
            return self._batch.add_here(declaration, partial(stand_in, self._env, arguments))
        _make_way(self._batch.session, declaration, self._number)
        return self._batch.add(declaration, self._number, arguments)


class Mapped:
    """Functions over columns; every attribute is a declared function's map form."""

    __slots__ = ("_env", "_functions", "_number", "_session", "_timeout")

    def __init__(
        self,
        session: Session,
        functions: dict[str, Declaration],
        number: int,
        timeout: float | None = None,
        env: Env | None = None,
    ) -> None:
        self._env = env
        self._session = session
        self._functions = functions
        self._number = number
        self._timeout = timeout

    def __getattr__(self, name: str) -> Callable[..., Columns]:
        declaration = self._functions.get(name)
        if declaration is None or declaration.callback:
            raise AttributeError(f"{name!r} has no form over columns")

        def mapped(*arguments: Any, **named: Any) -> Columns:
            given = list(arguments)
            for parameter in declaration.parameters[len(given) :]:
                if parameter.name in named:
                    given.append(named.pop(parameter.name))
                elif parameter.default is not parameter.empty:
                    given.append(parameter.default)
                else:
                    raise TypeError(f"{name}() needs {parameter.name}")
            if named or len(given) > len(declaration.parameters):
                raise TypeError(f"{name}() got unexpected arguments: {[*named]}")
            stand_in = self._session.overrides.get((self._number, name))
            if stand_in is not None and self._env is not None:
                return map_here(declaration, partial(stand_in, self._env), tuple(given))
            _make_way(self._session, declaration, self._number)
            return map_call(self._session, declaration, self._number, tuple(given), self._timeout)

        mapped.__name__ = name
        mapped.__doc__ = declaration.method.__doc__
        return mapped

    def __dir__(self) -> list[str]:
        return [name for name, function in self._functions.items() if not function.callback]
