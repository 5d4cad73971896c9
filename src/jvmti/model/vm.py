"""A JVM under study: the session, its environments, and where everything else starts."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from jvmti import display
from jvmti.deferred import subprocess
from jvmti.emulation.registry import Emulation
from jvmti.env.environment import Env, Mapped
from jvmti.env.services import CALLBACKS, CAPABILITY_POOL, HANDLERS, STREAMS
from jvmti.events.callbacks import Callbacks
from jvmti.events.enabling import Enabling
from jvmti.events.handlers import HandlerError, Handlers
from jvmti.events.streams.opening import OfferedStreams
from jvmti.interface.capabilities import FREE, Capabilities
from jvmti.interface.constants import VMPhase
from jvmti.interface.errors import InHeapCallback, TargetLost
from jvmti.jni.calls import COUNTER, JNI
from jvmti.jni.interface import FUNCTIONS as JNI_FUNCTIONS
from jvmti.model.capability_broker import CapabilityBroker
from jvmti.model.capability_pool import CapabilityPool
from jvmti.model.classes.java_class import Class, Field, Method, Methods
from jvmti.model.classes.loaded_classes import Classes
from jvmti.model.classes.modules import (
    ClassLoader,
    ClassLoaderSummary,
    Module,
    Modules,
    class_loaders,
)
from jvmti.model.classes.sources import SourcePath
from jvmti.model.debug.breakpoint_table import BreakpointTable
from jvmti.model.debug.breakpoints import Breakpoint, class_patterns
from jvmti.model.debug.catchpoints import Catchpoint
from jvmti.model.debug.stops import Stop
from jvmti.model.debug.watchpoints import Watchpoint
from jvmti.model.engines import ENGINES
from jvmti.model.objects.java_object import (
    PRIMITIVE_ARRAYS,
    Object,
    ObjectArray,
    String,
    Throwable,
)
from jvmti.model.properties import Properties
from jvmti.model.session_vm import MODEL
from jvmti.model.threads.java_thread import Thread, Threads
from jvmti.model.threads.thread_groups import ThreadGroup, ThreadGroups
from jvmti.operations.agent import AgentOperations
from jvmti.operations.functions import AgentStats
from jvmti.refs.handles import CLASSES
from jvmti.refs.services import EXTENSIONS, MEMORY
from jvmti.target.agent_library import interface_digest
from jvmti.target.connection import Connection
from jvmti.target.processes.search import Process
from jvmti.text.printable import escaped
from jvmti.wire import trace
from jvmti.wire.session import Session

if TYPE_CHECKING:
    from jvmti.liveheap.live_heap import LiveHeap
    from jvmti.model.debug.late.stoppoints import Stoppoint
    from jvmti.model.diagnostics import Arguments, DiagnosticCommands, Flags
    from jvmti.model.objects.reading import ReadyCall
    from jvmti.model.threads.locks import Deadlock
    from jvmti.profile.tables import Kind
    from jvmti.profiling.flight_recording import FlightRecording
    from jvmti.profiling.live_profile import LiveProfile
    from jvmti.tracing.arming import Cost
    from jvmti.tracing.change import Change
    from jvmti.tracing.logpoint import Logpoint
    from jvmti.tracing.trace import Trace

log = logging.getLogger("jvmti")

_MODEL: tuple[Any, ...] = (
    Object,
    ObjectArray,
    String,
    Throwable,
    ClassLoader,
    Module,
    Class,
    Method,
    Field,
    Thread,
    ThreadGroup,
    *PRIMITIVE_ARRAYS,
)

_KINDS: dict[int, Any] = {cls.KIND: cls for cls in _MODEL}

_EARLY = Capabilities.of("can_generate_early_vmstart")
"""Lets it look things up for the handler of an early ``VMStart``."""


class Version(NamedTuple):
    """A version of the interface, as numbers."""

    major: int
    minor: int
    micro: int


class Stats(NamedTuple):
    """Statistics of a session, on both sides."""

    messages: int
    """Messages that this side has sent."""
    bytes: int
    """Their size in bytes."""
    running: tuple[str, ...]
    """Calls that timed out or were interrupted and still run in the VM."""
    agent: AgentStats | None
    """The agent's statistics; ``None`` when the session is over."""


class VM:
    """A Java virtual machine under study.

    It is a context manager: leaving the block detaches and undoes what the session did.

    Attributes:
        process: the process of the JVM.
        popen: the program that `launch` started, ``None`` after `attach`.
        env: the session's first JVM TI environment.
        jni: the JNI functions.
        threads: the live threads.
        capabilities: where each capability comes from, and what needs it.
        emulation: the engines that emulate capabilities that the VM does not grant.
        heap: the objects of the VM: histograms, scans, referrers.
        breakpoints: the active breakpoints, watchpoints, catchpoints and steps of this session.
        classes: the loaded classes: ``vm.classes("java.util.*Map")``.
        source_path: where to search for source code.
        methods: the names of the methods that this session has seen.
    """

    def __init__(
        self, connection: Connection, *, timeout: float = 10.0, emulate: bool = False
    ) -> None:
        self.process: Process = connection.process
        self.popen: subprocess.Popen[bytes] | None = connection.popen
        self.loaded_at_startup = connection.loaded_at_startup
        if trace.FRAMES:
            from jvmti.events.trace_names import name_frames

            name_frames()
        self._session = Session(
            connection.socket,
            CLASSES | _KINDS,
            timeout=timeout,
            digest=interface_digest(),
            checked=connection.checked,
        )
        self._agent = AgentOperations(self._session)
        self.env = Env(self._session, 1)
        self.jni = JNI(self._session)
        self.threads = Threads(self)
        self.capabilities = CapabilityBroker(self)
        self.emulation = Emulation(self._session, open=emulate)
        for engine in ENGINES:
            self.emulation.register(engine(self))
        self._heap: LiveHeap | None = None
        self.classes = Classes(self)
        self.source_path = SourcePath(self)
        self.methods = Methods(self)
        self._shows_variables: ReadyCall | None = None
        self._locates_stacks: dict[tuple[int, bool], ReadyCall] = {}
        self._bootstrap_classes: dict[str, Class] = {}
        self._lookup_env: Env | None = None
        self._capability_pool = CapabilityPool(self)
        self._capability_pool.add(self.env)
        self._tag_env: Env | None = None
        self._session.identify = self._agent.identify
        self._session.same = self.jni.is_same_object
        self._session.describe_exception = self._describe_exception
        enabling = Enabling(self._session)
        self._handlers = Handlers(self._session, enabling)
        self._callbacks = Callbacks(self._session)
        self.breakpoints = BreakpointTable(self, self._handlers, enabling)
        provide = self._session.services.provide
        provide(MODEL, self)
        provide(MEMORY, self._agent)
        provide(EXTENSIONS, self._callbacks.extensions)
        provide(COUNTER, self._callbacks.jni)
        provide(CAPABILITY_POOL, self._capability_pool)
        provide(HANDLERS, self._handlers)
        provide(STREAMS, OfferedStreams(self._session, enabling))
        provide(CALLBACKS, self._callbacks)
        self._session.hello(_name_of_this_process(), timeout)

    # ---- the session -----------------------------------------------------------------------

    @property
    def timeout(self) -> float | None:
        """The time limit of calls in seconds; ``None`` waits for ever."""
        return self._session.timeout

    @timeout.setter
    def timeout(self, seconds: float | None) -> None:
        self._session.timeout = seconds

    @property
    def closed(self) -> bool:
        """Whether the session is over."""
        return self._session.closed is not None

    @property
    def held(self) -> bool:
        """Whether the VM waits in the OnLoad phase for `proceed`."""
        return self._session.held

    def proceed(self, timeout: float = 60.0) -> None:
        """Let a VM that is held in the OnLoad phase start, and wait until it is live.

        Raises:
            CallTimeout: it is not live in time.
            WrongPhase: it is not held.
            TargetLost: it ended before it was live.
        """
        if self._handlers.any:
            self.lookup_env  # noqa: B018 - none can be made before the VM is live
        self._agent.proceed()
        self._session.held = False
        self._session.await_live(timeout)
        try:
            self._handlers.went_live()
            self.breakpoints.went_live()
        except TargetLost as lost:
            log.debug("the VM was live and has ended: %s", lost)

    def refuse(self, result: int = -1) -> None:
        """Refuse the start of a VM that is held in the OnLoad phase: it ends with status 1.

        It is like an ``Agent_OnLoad`` that returns an error.  The session is over then.

        Args:
            result: what ``Agent_OnLoad`` returns, not 0; HotSpot's exit status is 1 for all.

        Raises:
            WrongPhase: it is not held.
            IllegalArgument: the result is 0.
        """
        self._agent.refuse(result)
        self._session.held = False
        self._session.leave("the VM has been refused its start")

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the JVM has ended, or the session has.

        Args:
            timeout: seconds to wait; ``None`` is for ever.

        Returns:
            Whether it has; false if the time is over.
        """
        return self._session.wait(timeout)

    def new_env(self, version: int = 0) -> Env:
        """A further JVM TI environment, with its own capabilities, tags and storage.

        Args:
            version: the version of the interface to ask for; 0 is the VM's newest.

        Raises:
            UnsupportedVersion: this VM does not have it.
        """
        return self._capability_pool.add(Env(self._session, self._agent.new_env(version)))

    def own_env(self) -> Env:
        """A further environment for work of the model's own."""
        try:
            return Env(self._session, self._agent.new_env(0))
        except InHeapCallback:
            raise InHeapCallback(None) from None

    def detach(self, timeout: float = 10.0) -> None:
        """Leave the JVM; returns when the agent has undone what the session did.

        Detaching twice does nothing.  A VM that is held in the OnLoad phase starts.
        """
        self._session.detach(timeout)

    def __enter__(self) -> VM:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.detach()

    @property
    def handler_errors(self) -> list[HandlerError]:
        """The exceptions of event handlers so far, one entry for each place."""
        return list(self._handlers.errors.values())

    @property
    def handler_limit(self) -> int:
        """The most handlers that run at the same time; further events wait.

        A handler that runs inside a call of your own does not count.
        """
        return self._handlers.limit

    @handler_limit.setter
    def handler_limit(self, limit: int) -> None:
        if limit < 1:
            raise ValueError(f"there must be at least one handler, not {limit}")
        self._handlers.limit = limit

    @property
    def stats(self) -> Stats:
        """Statistics of this session."""
        session = self._session
        agent = None if self.closed else self._agent.stats()
        running = session.still_running()
        channels = [*session.channels, *session.running, session.control]
        return Stats(
            sum(channel.messages for channel in channels),
            sum(channel.bytes for channel in channels),
            running,
            agent,
        )

    # ---- the VM ----------------------------------------------------------------------------

    @property
    def version(self) -> Version:
        """The VM's version of JVM TI; its major number is that of the Java release from 9 on."""
        number = self._session.greeting.version
        return Version(number >> 16 & 0xFFF, number >> 8 & 0xFF, number & 0xFF)

    @property
    def phase(self) -> VMPhase:
        """The phase of the VM's life."""
        return self.env.get_phase()

    @property
    def map(self) -> Mapped:
        """The JNI functions over columns, as ``vm.env.map`` is for JVM TI."""
        return Mapped(self._session, JNI_FUNCTIONS, 1)

    @property
    def heap(self) -> LiveHeap:
        """The objects of the VM: histograms, scans, snapshots, referrers."""
        if self._heap is None:
            # Imported at its first use, so that a prompt appears sooner.
            from jvmti.liveheap.live_heap import LiveHeap

            self._heap = LiveHeap(self)
        return self._heap

    @property
    def lookup_env(self) -> Env:
        """The environment in which the model looks things up, created at first use.

        It has capabilities that cost nothing (line numbers, source files, processor times), so
        that asking a frame for its line does not change what ``vm.env`` may do.
        """
        if self._lookup_env is None:
            env = self.own_env()
            env.add_capabilities(env.get_potential_capabilities() & (FREE | _EARLY))
            self._lookup_env = env
        return self._lookup_env

    def trace(
        self,
        *patterns: str,
        over: float = 0.0,
        arguments: bool = True,
        text: int = 48,
        limit: int | None = 1000,
        summary: bool = False,
        by: str | None = None,
        max_pause: float | None = None,
        unloaded: bool = False,
        when: str | None = None,
        every: int = 1,
        stack: int = 0,
        objects: int = 0,
        loader: ClassLoader | None = None,
    ) -> Trace:
        """Record calls of methods: arguments, what they return or throw, and how long they take.

        Probes are put into the classes, those that are loaded later included, and taken out again
        at the end; the program never waits for Python::

            with vm.trace("com.acme.Order.*", over=0.05) as trace:
                for call in trace:
                    print(call)

        Args:
            patterns: ``CLASS.METHOD``, shell patterns, with the types of the parameters if need be:
                ``com.acme.Order.add(int, *)``. Conditions may follow: ``annotated PATTERN``, of the
                method or the class; ``extends PATTERN``, a superclass or an interface, however far
                up; ``loader PATTERN``, the name or the class of the loader, or the class and the
                identity hash, ``*.PluginLoader@1b2c3d``. Constructors are taken where the pattern
                says ``<init>``. Behind ``call`` are calls where they are made, also of native
                methods: ``call java.lang.Thread.sleep in com.acme.*.*``; those that an exception
                ends are left out.
            over: seconds that a call must have taken.
            arguments: record the arguments of calls.
            text: bytes of the text of a string, or of an exception's message, that are kept.
            limit: calls a second; further ones are dropped and counted. ``None`` for all that
                there is space for.
            summary: add calls up by method instead, see `Trace.summary`.
            by: add them up by something else: ``class`` (of the receiver), ``thread``, ``caller``,
                or a value such as ``order.customer.name``; 8,191 different ones, and the others
                together.
            max_pause: seconds that the program may be stopped at a time while classes get their
                probes: in steps, each of which is measured; ``None`` is for the least time in all.
            unloaded: a pattern may match no class that is loaded; they get probes when they are.
            when: a condition that the target evaluates:
                ``n > 100 and order.customer.name == "Ada"``, over parameters, ``this``, ``value``,
                ``exception``, ``thread``, ``caller``, ``took`` and fields of these; see
                `docs/tracing.md`.
            every: record only each n-th of the calls that would be recorded.
            stack: how many callers each call has in ``Call.stack``, at most 256. It costs about
                a microsecond, and more where the stack is deep.
            objects: the number of calls, the last ones, whose receiver and arguments are held until
                they are read or the trace is closed. Such a call has objects of the model in
                ``Call.arguments``, and `Call.again` makes it once more.
            loader: only classes that this class loader has defined: ``cls.loader``, where several
                loaders have a class of one name.

        Raises:
            BadProbe: a pattern is invalid.
            LookupError: no loaded class has such a name, or none meets the pattern's conditions.
            TypeError: ``loader`` is no class loader.

        JVM TI: RetransformClasses, ClassFileLoadHook.
        """
        from jvmti.tracing.trace import Trace

        return Trace(
            self,
            patterns,
            over=over,
            arguments=arguments,
            text=text,
            limit=limit,
            summary=summary,
            by=by,
            max_pause=max_pause,
            unloaded=unloaded,
            when=when,
            every=every,
            stack=stack,
            objects=objects,
            loader=loader,
        )

    def profile(
        self,
        *kinds: str | Kind,
        interval: float | Mapping[str, float] | None = None,
        engine: str | None = None,
        depth: int = 512,
        exact: bool = True,
        by: str | None = None,
        threads: str | Sequence[str] | None = None,
        source: Literal["agent", "jfr"] = "agent",
        max_pause: float | None = None,
    ) -> LiveProfile | FlightRecording:
        """Take samples of stacks: where processor time, allocated memory or waiting goes.

        The profile ends with its ``with`` block, and can be used afterwards::

            with vm.profile("cpu", interval=0.01) as profile:
                time.sleep(10)
            print(profile.top())

        Args:
            kinds: ``"cpu"``, the time that threads use a processor, which is the default;
                ``"wall"``, wall-clock time, also of threads that wait, with states; ``"alloc"``,
                allocated bytes; ``"live"``, those of objects that are allocated during the profile
                and alive when it stops (an object counts until a collection finds that it is dead,
                so collect first to have only what stays); ``"lock"``, the time that threads wait
                for monitors, and for locks of ``java.util.concurrent``. Of several each has its
                samples, which ``profile["cpu"]`` picks.
            interval: seconds from one sample of a thread to its next, 0.01 for ``None``, and 0.02
                of ``"wall"``; of ``"alloc"`` and ``"live"`` bytes, on average, 512 KB; of
                ``"lock"`` the shortest wait, 10 µs. For several kinds a dictionary:
                ``{"cpu": 0.001}``.
            engine: ``"perf"`` (performance events of the kernel), ``"timer"`` (timers on the
                processor time of each thread, which are as fine as the kernel's tick), or
                ``"deltas"`` (a thread of the agent asks for the stacks of threads that have run,
                at safepoints); ``None`` is the best that works, and ``profile.limits`` says which
                that is.
            depth: frames of a stack at most; of deeper ones the outermost are missing.
            exact: have the frames of inlined methods right. HotSpot up to 17 compiles all code
                again for that, once in its life, which takes seconds until the program is as fast
                as before. Later releases need ``-XX:+DebugNonSafepoints`` when they start.
            by: split the profile, of whatever kind, by request: the method that handles requests,
                and a value that names one when it begins, such as
                ``com.acme.Server.handle(request).path``, or nothing for the method's own name.
                ``profile.by("label")`` has the parts. Probes record beginnings and ends, which
                costs some 100 ns a request; requests that began before the profile have no part.
            threads: of ``"wall"`` only threads of this name: a pattern such as ``"http-*"``, or
                several. Virtual threads appear where the names of their carriers match.
            source: ``"jfr"`` has the JVM's Flight Recorder take the samples, for ``"cpu"``,
                ``"wall"`` (native code only), ``"alloc"`` and ``"lock"``; of the other options it
                takes ``interval`` only, from Java 17 on. In a notebook it is not live: the samples
                are read by ``update()``, and at the end.
            max_pause: of ``by``: as for `trace`.

        Raises:
            BadProbe: ``by`` is malformed.
            LookupError: there is no such method, or it has no such value.
            PauseTooLong: a single class would stop the program for longer than ``max_pause``.
            NotAvailable: no engine works, or another profile or the program has what it needs.
            ValueError: there is no such kind or engine, or the interval is not positive.

        JVM TI: GetMethodName, GetLineNumberTable, GetStackTrace, GetThreadCpuTime,
        SampledObjectAlloc, ObjectFree, MonitorContendedEnter, MonitorContendedEntered,
        GarbageCollectionStart, GarbageCollectionFinish, GetObjectMonitorUsage, and HotSpot's
        AsyncGetCallTrace.
        """
        from jvmti.profiling.live_profile import LiveProfile, intervals_of, kind_of

        if source == "jfr":
            from jvmti.profiling.flight_recording import FlightRecording

            if any(one is not None for one in (engine, by, threads, max_pause)):
                raise ValueError("source='jfr' takes none of engine=, by=, threads=, max_pause=")
            if depth != 512 or not exact:
                raise ValueError("source='jfr' takes neither depth= nor exact=: JFR has its own")
            wanted = [kind_of(kind) for kind in kinds or ("cpu",)]
            asked = intervals_of(wanted, interval)
            if not isinstance(interval, Mapping):
                named = wanted if interval is not None else []
            else:
                named = [kind_of(kind) for kind in interval]
            return FlightRecording(self, wanted, {kind: asked[kind] for kind in named})
        if source != "agent":
            raise ValueError(f"source={source!r} is none of agent, jfr")
        return LiveProfile(
            *(self, kinds),
            interval=interval,
            engine=engine,
            depth=depth,
            exact=exact,
            by=by,
            threads=threads,
            max_pause=max_pause,
        )

    def trace_cost(
        self, *patterns: str, loader: ClassLoader | None = None, unloaded: bool = False
    ) -> Cost:
        """Estimate what a trace would cost, without changing anything.

        Args:
            patterns: as for `trace`.
            loader: as for `trace`.
            unloaded: a pattern may match nothing that is loaded.

        Returns:
            Classes, methods, running calls, and how long the program would stop.

        Raises:
            BadProbe: a pattern is malformed.
            LookupError: nothing that is loaded matches; the message has similar names.
        """
        from jvmti.tracing.arming import cost_of

        return cost_of(self, patterns, loader, unloaded=unloaded)

    def logpoint(
        self,
        place: str,
        text: str | None = None,
        *,
        line: int | None = None,
        when: str | None = None,
        every: int = 1,
        over: float = 0.0,
        limit: int | None = 1000,
        by: str | None = None,
        stack: int = 0,
        text_size: int = 48,
        max_pause: float | None = None,
        unloaded: bool = False,
        loader: ClassLoader | None = None,
    ) -> Logpoint:
        """Record a text, with values in it, whenever a place in the code is reached.

        The program never waits for Python, and nobody must have prepared it::

            with vm.logpoint("com.acme.Order:42", "n={n} total={this.total:,}") as log:
                for hit in log:
                    print(hit.moment, hit.thread, hit)

        Args:
            place: ``CLASS:LINE``, ``FILE.java:LINE`` (of the classes that the file is named after),
                ``CLASS.METHOD:LINE``, ``CLASS.METHOD@INDEX`` (of the bytecode), or ``CLASS.METHOD``
                for where it begins. Classes and methods may be shell patterns. Or a kind of place:
                ``write com.acme.Order.total``, ``read FIELD``, ``call METHOD``, ``called METHOD``
                (when it returns), ``new CLASS``, ``catch CLASS``, each with ``in CLASS.METHOD``
                behind it or not; ``throw``, ``return``, ``unwind``, ``monitor-enter`` or
                ``monitor-exit CLASS.METHOD``. Conditions may follow, as for `trace`.
            text: values stand in braces: local variables and parameters by their names, ``arg0``
                (what the caller passed), ``this``, ``thread``, fields of these to any depth,
                ``len(x)``, ``type(x)``. At kinds of places there are ``value``, ``exception``,
                ``target`` (whose field, method or monitor it is), ``member`` and ``passed0``, too.
                What follows a colon is Python's format of the value. Without a text, the kind of
                place decides what is recorded.
            line: the line, where the place is a class or a method.
            when: a condition on these values, which the target evaluates, as for `trace`.
            every: record only each n-th hit.
            over: seconds that the call of the method must have taken until then.
            limit: hits a second; further ones are dropped and counted. ``None`` for all that there
                is space for.
            by: count instead, by ``method``, ``place``, ``class``, ``thread``, ``caller`` or a
                value at the place; see `Logpoint.summary`.
            stack: how many frames of the stack each hit has in ``hit.stack``, that of the place
                first; the thread records them itself, without a stop.
            text_size: bytes of the text of a string, or of an exception's message, that are kept.
            max_pause: as for `trace`.
            unloaded: the class may not be loaded yet; it gets its probe when it is.
            loader: as for `trace`.

        Raises:
            BadProbe: the place, the text or the condition is invalid.
            LookupError: no loaded class has such a place, or there is no such value there.

        JVM TI: RetransformClasses, ClassFileLoadHook.
        """
        from jvmti.tracing.logpoint import Logpoint
        from jvmti.tracing.places import at_line

        return Logpoint(
            self,
            place if line is None else at_line(place, line),
            text,
            when=when,
            every=every,
            over=over,
            limit=limit,
            by=by,
            stack=stack,
            text_size=text_size,
            max_pause=max_pause,
            unloaded=unloaded,
            loader=loader,
        )

    def change(
        self,
        *patterns: str,
        returns: object = ...,
        throws: str | None = None,
        delay: float = 0.0,
        when: str | None = None,
        every: int = 1,
        over: float = 0.0,
        times: int | None = None,
        max_pause: float | None = None,
        unloaded: bool = False,
        loader: ClassLoader | None = None,
    ) -> Change:
        """Let calls of methods return something else, throw, or take longer, for testing.

        What does the program do if the database is slow, the network gone, the disk full? Nobody
        must have prepared it, and nothing is restarted::

            with vm.change("com.acme.Till.pay", throws="java.io.IOException: no route", every=10):
                ...

        Args:
            patterns: as for `trace`: methods, or calls of a method where they are made, as in
                ``call java.net.Socket.connect in com.acme.*.*``, which leaves other callers alone.
            returns: what they return instead: a number, a text, a truth value or ``None``. The call
                runs all the same; only methods whose type fits are changed.
            throws: what they throw where they begin: the name of a class, and a message behind a
                colon. The class is that which the method's own class means by the name.
            delay: seconds that they wait where they begin, at most an hour. The end of the change
                ends the waiting.
            when: a condition, as for `trace`, on what is known where a call begins, or for
                ``returns`` where it ends. Of calls where they are made there are ``target`` and
                ``passed0``, too, and ``this`` and other variables are the caller's.
            every: only each n-th such call.
            over: seconds that the call must have taken, for ``returns``.
            times: how many calls at most.
            max_pause: as for `trace`.
            unloaded: a pattern may match no class that is loaded; they are changed when they are.
            loader: as for `trace`.

        Raises:
            BadProbe: a pattern, the condition or the change is invalid.
            LookupError: no loaded class has such a method, none whose type fits, or there is no
                such exception.
            PauseTooLong: a single class would stop the program for longer than ``max_pause``.

        JVM TI: RetransformClasses, ClassFileLoadHook.
        """
        from jvmti.tracing.change import Change

        return Change(
            self,
            patterns,
            returns=returns,
            throws=throws,
            delay=delay,
            when=when,
            every=every,
            over=over,
            times=times,
            max_pause=max_pause,
            unloaded=unloaded,
            loader=loader,
        )

    def env_with(self, *capabilities: str, emulated: bool = True) -> Env:
        """An environment that has certain capabilities: the model's own, unless another has them.

        The model takes capabilities that have a cost here, at the first use, and keeps them until
        the session ends; ``vm.env`` does not change. It gives up an exclusive capability if another
        environment requests it.

        Args:
            capabilities: their names.
            emulated: take what the VM does not grant from an engine that emulates it.

        Raises:
            NotAvailable: they are not available now; the message says what to do.

        JVM TI: AddCapabilities.
        """
        return self._capability_pool.environment(Capabilities.of(*capabilities), emulated=emulated)

    @property
    def tag_env(self) -> Env:
        """The environment that ``obj.tag`` reads and writes, created at first use.

        It has ``can_tag_objects``, which is always available; each tag costs the VM some 50
        bytes and a little of every garbage collection.  ``vm.tag_env.get_objects_with_tags`` finds
        the objects again.
        """
        if self._tag_env is None:
            env = self.own_env()
            env.add_capabilities({"can_tag_objects"})
            self._tag_env = env
        return self._tag_env

    def string(self, text: str) -> String:
        """A new ``java.lang.String``, where text is to be an object: to lock, tag or compare.

        Elsewhere a ``str`` can stand for one.

        JNI: NewString.
        """
        return self.jni.new_string(text)  # type: ignore[return-value]

    def find_class(self, name: str) -> Class:
        """The loaded class of that name; never loads one.

        Args:
            name: as Java writes it, ``java.util.Map$Entry`` or ``int[]``.

        Raises:
            LookupError: none is loaded, or several class loaders have one; the message names the
                loaders, or similar names.
        """
        one = self.classes.find(name)
        found: Class = self._session.identity(one)
        found._signature = one.signature
        return found

    def bootstrap_class(self, name: str) -> Class:
        """A class of the bootstrap loader, looked up once: ``java/util/Map``.

        Raises:
            JavaException: this release has no class of that name.

        JNI: FindClass.
        """
        if name not in self._bootstrap_classes:
            self._bootstrap_classes[name] = self.jni.find_class(name)  # type: ignore[assignment]
        return self._bootstrap_classes[name]

    def breakpoint(
        self,
        classes: str | Sequence[str],
        methods: str | None = None,
        line: int | None = None,
        *,
        signature: str | None = None,
        location: int | None = None,
        when: str | Callable[[Stop], object] | None = None,
        hits: int | str | None = None,
        thread: Thread | Iterable[Thread] | None = None,
        caller: str | Iterable[str] | Method | None = None,
        do: Callable[[Stop], object] | None = None,
        placed: Callable[[Breakpoint], object] | None = None,
        max_pause: float | None = None,
    ) -> Breakpoint:
        """A breakpoint by name, also in classes that are loaded later, by whatever class loader.

        Args:
            classes: the class, or a shell pattern for several: ``"com.acme.*"``; or several of
                these.
            methods: the method, or a pattern; all of that name.  Without it, those with the line.
            line: the source line; without it, where the methods begin.
            signature: of the method, where there are several of the name: ``"(I)V"``; or a pattern:
                ``"(I*"``.
            location: the bytecode index, instead of the line.
            when, hits, thread, caller, do: as for `Method.breakpoint`.
            placed: a function that is called with the breakpoint when classes have been loaded or
                redefined, so that its ``places`` may have changed.
            max_pause: where probes take the place of breakpoints, because the agent came late, as
                for `trace`.

        Raises:
            TypeError: the classes are no text.
            PauseTooLong: a single class would stop the program for longer than ``max_pause``.
            ValueError: neither a method nor a line is named, or a loaded class of that very name
                has no such line, or no such place.
            LookupError: a loaded class of that very name has no such method.
            NotAvailable: breakpoints are not available in this JVM now, or another agent holds the
                capability.

        JVM TI: SetBreakpoint, ClassPrepare, Breakpoint.
        """
        return Breakpoint(
            self,
            None,
            (class_patterns(classes), methods, signature),
            line,
            location,
            when=when,
            hits=hits,
            thread=thread,
            caller=caller,
            do=do,
            placed=placed,
            max_pause=max_pause,
        )

    def stop_at(
        self,
        place: str,
        *,
        line: int | None = None,
        when: str | Callable[[Stop], object] | None = None,
        over: float = 0.0,
        hits: int | str | None = None,
        thread: Thread | Iterable[Thread] | None = None,
        caller: str | Iterable[str] | Method | None = None,
        do: Callable[[Stop], object] | None = None,
        max_pause: float | None = None,
        unloaded: bool = False,
    ) -> Stoppoint:
        """Stop threads at any kind of place: returns, calls, new objects, handlers, monitors.

        ::

            with vm.stop_at("return com.acme.Order.add", when="value > 1000") as stops:
                for stop in stops:
                    print(stop.value, dict(stop.locals))
                    stop.frame.return_(0)

        Probes stop the threads, in every JVM. At the stop `Stop.value` is what is returned, thrown,
        caught, read, written or made, and `Stop.at_place` has the rest.

        Args:
            place, line: as for `logpoint`.
            when: a condition as for `logpoint`, which the target evaluates; or a function, which
                takes the stop.
            over: seconds that the call of the method must have taken until then.
            hits, thread, caller, do: as for `Method.breakpoint`.
            max_pause: as for `trace`.
            unloaded: the class may not be loaded yet; it gets its probe when it is.

        Raises:
            BadProbe: the place or the condition is invalid.
            LookupError: no loaded class has such a place, or there is no such value there.
            PauseTooLong: a single class would stop the program for longer than ``max_pause``.

        JVM TI: RetransformClasses, ClassFileLoadHook.
        """
        from jvmti.model.debug.late.stoppoints import Stoppoint
        from jvmti.tracing.places import at_line

        return Stoppoint(
            self,
            place if line is None else at_line(place, line),
            when=when,
            over=over,
            hits=hits,
            thread=thread,
            caller=caller,
            do=do,
            max_pause=max_pause,
            unloaded=unloaded,
        )

    def watch(
        self,
        class_name: str,
        field: str,
        *,
        read: bool = False,
        write: bool = True,
        when: str | Callable[[Stop], object] | None = None,
        hits: int | str | None = None,
        thread: Thread | Iterable[Thread] | None = None,
        caller: str | Iterable[str] | Method | None = None,
        do: Callable[[Stop], object] | None = None,
        placed: Callable[[Watchpoint], object] | None = None,
        max_pause: float | None = None,
    ) -> Watchpoint:
        """Stop before a field is read or written, also one of a class that is loaded later.

        Args:
            class_name: the class that declares the field: ``"com.acme.Order"``.
            field: its name.
            read, write, when, hits, thread, caller, do: as for `Field.watch`.
            placed: a function that is called with the watchpoint when the class has been loaded.
            max_pause: as for `breakpoint`.

        Raises:
            PauseTooLong: a single class would stop the program for longer than ``max_pause``.
            LookupError: the class is loaded, and has no such field.
            ValueError, NotAvailable: as for `Field.watch`.

        JVM TI: SetFieldAccessWatch, SetFieldModificationWatch, ClassPrepare.
        """
        return Watchpoint(
            self,
            (class_name, field),
            read,
            write,
            when=when,
            hits=hits,
            thread=thread,
            caller=caller,
            do=do,
            placed=placed,
            max_pause=max_pause,
        )

    def catch(
        self,
        exceptions: str = "java.lang.Throwable",
        *,
        caught: bool = True,
        uncaught: bool = True,
        when: str | Callable[[Stop], object] | None = None,
        hits: int | str | None = None,
        thread: Thread | Iterable[Thread] | None = None,
        caller: str | Iterable[str] | Method | None = None,
        do: Callable[[Stop], object] | None = None,
    ) -> Catchpoint:
        """Stop where exceptions of a class, or of its subclasses, are thrown.

        From then on the VM throws every exception, even those that compiled code would have turned
        into jumps, which slows the program down.  Exceptions that calls of the controller cause do
        not stop.

        Args:
            exceptions: the class, or a shell pattern for several. One without a dot means a class
                of that name in any package, or nested in any class.
            caught: stop for exceptions that a Java method will catch, by the VM's prediction.
            uncaught: stop for exceptions that none will.
            when: a condition on local variables of the method that throws, as for
                `Method.breakpoint`, but the controller evaluates it while the thread waits; it is
                false in methods without such variables.  Or a function that takes the stop.
            hits, thread, caller, do: as for `Method.breakpoint`.

        Raises:
            ValueError: both caught and uncaught are false, or the condition is malformed.
            NotAvailable: this JVM reports no exceptions or, for a condition, no local variables.

        JVM TI: Exception.
        """
        return Catchpoint(
            self,
            exceptions,
            caught,
            uncaught,
            when=when,
            hits=hits,
            thread=thread,
            caller=caller,
            do=do,
        )

    @property
    def thread_groups(self) -> ThreadGroups:
        """The topmost thread groups, by number; by name those within as well."""
        found: Any = self.env.get_top_thread_groups()
        return ThreadGroups(self, found)

    def deadlocks(self, timeout: float = 10.0) -> list[Deadlock]:
        """The deadlocks: threads that wait in a circle; ``str()`` of each has the details.

        It covers monitors, and locks of ``java.util.concurrent`` that know their owner. If the
        agent was attached late, the monitors are emulated, and threads that wait for one are
        suspended for a moment. It returns only circles that a second sample confirms.

        Args:
            timeout: seconds that the VM's own thread dump may take, where it is needed.

        JVM TI: GetOwnedMonitorInfo, GetCurrentContendedMonitor.
        """
        from jvmti.model.threads.locks import LockFinder

        return LockFinder(self).found(timeout)

    @property
    def modules(self) -> Modules:
        """The modules, the unnamed ones of the class loaders among them.

        Also indexed by name: ``vm.modules["java.base"]``.

        JVM TI: GetAllModules.
        """
        found: Any = self.env.get_all_modules()
        return Modules(found)

    @property
    def class_loaders(self) -> list[ClassLoaderSummary]:
        """The class loaders that have defined classes, with how many; the bootstrap loader first.

        JVM TI: GetLoadedClasses, GetClassLoader.
        """
        return class_loaders(self)

    @property
    def properties(self) -> Properties:
        """The system properties as the VM has them; changes by Java code do not show."""
        names = self.env.get_system_properties()
        values = self.env.map.get_system_property(names)
        return Properties(
            (name, value)
            for name, status, value in zip(names, values.status_list(), values.value, strict=True)
            if not status and value is not None
        )

    @property
    def name(self) -> str:
        """The name of the VM: ``OpenJDK 64-Bit Server VM``."""
        return self.env.get_system_property("java.vm.name") or ""

    @property
    def java_version(self) -> str:
        """The version of Java: ``17.0.9``, as ``System.getProperty`` has it.

        JNI: CallStaticObjectMethod.
        """
        jni = self.jni
        system = self.bootstrap_class("java/lang/System")
        method = jni.get_static_method_id(
            system, "getProperty", "(Ljava/lang/String;)Ljava/lang/String;"
        )
        name = jni.new_string("java.version")
        found: Any = jni.call_static_object_method(system, method, [name])
        return "" if found is None else jni.get_string_chars(found)

    @property
    def arguments(self) -> Arguments:
        """The command line of the program, from the system's list of processes."""
        from jvmti.model.diagnostics import Arguments

        process = self.process
        return Arguments(process.jvm_arguments, process.main, process.arguments)

    @property
    def uptime(self) -> float:
        """Seconds since the VM started.

        Raises:
            AttachError: the VM cannot be reached over its attach mechanism.
        """
        return float(self.diagnostic_command("VM.uptime").split()[0].replace(",", "."))

    @property
    def flags(self) -> Flags:
        """The flags of the VM: values by name, to read and, if manageable, to set."""
        from jvmti.model.diagnostics import Flags

        return Flags(self)

    @property
    def diagnostic_commands(self) -> DiagnosticCommands:
        """The commands of `diagnostic_command`, with their help texts."""
        from jvmti.model.diagnostics import DiagnosticCommands

        return DiagnosticCommands(self.process, self._patience)

    def diagnostic_command(self, line: str) -> str:
        """Run a diagnostic command of the VM, as ``jcmd`` does: ``"Thread.print -l"``.

        Args:
            line: the command with its arguments.

        Raises:
            KeyError: there is none of that name; the message suggests similar ones.
            ValueError: the VM refuses the arguments.
            AttachError: the VM cannot be reached over its attach mechanism.
        """
        return self.diagnostic_commands.run(line)

    @property
    def _patience(self) -> float:
        """Seconds for what goes over the attach mechanism."""
        return self.timeout or 30.0

    def read_direct_buffer(self, buffer: Any, offset: int, length: int) -> bytes:
        """Read from the memory of a direct ``java.nio.ByteBuffer``.

        Args:
            buffer: any direct buffer.
            offset: of the first byte, counted from its beginning whatever its position.
            length: how many bytes.

        Raises:
            InvalidObject: it is not a direct byte buffer.
            IllegalArgument: the bytes lie outside of its capacity.
            AccessDenied: it is mapped over a file that has become shorter.
        """
        return self._agent.read_direct_buffer(buffer, offset, length)

    def write_direct_buffer(self, buffer: Any, offset: int, data: bytes) -> None:
        """Write to the memory of a direct ``java.nio.ByteBuffer``.

        Args:
            buffer: any direct buffer.
            offset: of the first byte, counted from its beginning whatever its position.
            data: what to put there.

        Raises:
            InvalidObject: it is not a direct byte buffer.
            IllegalArgument: the bytes lie outside of its capacity.
            AccessDenied: it is read-only, or mapped over a file that has become shorter.
        """
        self._agent.write_direct_buffer(buffer, offset, data)

    def service_threads(self) -> list[Any]:
        """The agent's own threads in the JVM, which JVM TI lists among the others."""
        return self._agent.service_threads()

    def _describe_exception(self, throwable: Any) -> tuple[str, str | None]:
        # One operation of the agent's: JNI calls would end the exception's being pending.
        described = self._agent.describe_throwable(throwable)
        return described.signature[1:-1].replace("/", "."), described.message

    @escaped
    def __repr__(self) -> str:
        state = "closed" if self.closed else "held in OnLoad" if self.held else "open"
        return f"<VM {self.process.pid} {self.process.main or ''} ({state})>"

    _repr_html_ = display.html


def _name_of_this_process() -> str:
    """Our name in the errors of other controllers that want what we hold."""
    return f"controller {os.getpid()} ({os.path.basename(sys.argv[0] or 'python')})"


def add_capabilities(vm: VM, wanted: Capabilities | str | Iterable[str]) -> None:
    """Add capabilities to the first environment; ``"all"`` takes all that are available.

    Raises:
        NotAvailable: one of them is not available; the message names it.
    """
    if wanted == "all":
        vm.env.add_capabilities(vm.env.get_potential_capabilities())
    elif wanted:
        vm.env.add_capabilities(Capabilities.of(wanted))


__all__ = ["VM", "Stats", "Version", "add_capabilities"]
