"""Operations of the agent itself, declared like functions of JVM TI and JNI."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from jvmti.interface.calling import Calling
from jvmti.interface.constants import Event
from jvmti.interface.declaration import declarations, operation
from jvmti.interface.types import Arguments, Boolean, Bytes, Int, Location, Long, SameCount, Text
from jvmti.refs import (
    Class,
    ClassLoader,
    ExtensionFunction,
    Field,
    Memory,
    Method,
    Module,
    Object,
    ObjectArray,
    Thread,
    Throwable,
)


class AgentStats(NamedTuple):
    """The agent's gauges and counters; gauges of all sessions first, then the session's own."""

    sessions: Long
    """Controllers at work on this JVM."""
    service_threads: Long
    """Threads of the agent in the JVM, all sessions together."""
    channels: Long
    """Channels of this session beside its first."""
    environments: Long
    """JVM TI environments of this session."""
    objects: Long
    """Live object handles of this session."""
    methods: Long
    """Method ids issued to this session."""
    fields: Long
    """Field ids issued to this session."""
    monitors: Long
    """Raw monitors of this session."""
    memory: Long
    """Blocks of target memory of this session."""
    calls: Long
    """Calls made by this session so far."""
    events_answered: Long
    """Events that handlers of this session received so far."""
    events_overran: Long
    """The events of these whose handlers did not answer in time."""
    events_too_deep: Long
    """Events that no handler received, because sixteen nested handlers were running already."""
    events_waiting: Long
    """Threads of the JVM that wait for a free handler."""
    streams: Long
    """Open streams of this session."""
    events_streamed: Long
    """Events that streams of this session recorded so far."""
    events_dropped: Long
    """Events that streams of this session dropped so far, because a ring was full."""
    heap_passes: Long
    """Passes of the VM over the heap that this session requested so far."""
    heap_nanoseconds: Long
    """How long they stopped the VM, in total."""


class JniCounts(NamedTuple):
    """Calls of JNI functions, by slot."""

    calls: list[Long]
    """How many."""
    nanoseconds: list[Long]
    """How long they took in total."""


class ThrowableDescription(NamedTuple):
    """The class and message of a throwable."""

    signature: Text
    """The signature of its class."""
    message: Text | None
    """Its message."""


class AgentReferences(NamedTuple):
    """The JNI global references that the agent holds for itself, all sessions together."""

    references: list[Long]
    """The address of each, as a heap dump has it."""
    threads: list[Long]
    """Those of them that refer to threads of the agent's own."""


class HeapCount(NamedTuple):
    """Objects by class, in the order of the request; the first row is for all other classes."""

    counts: list[Long]
    """How many."""
    bytes: list[Long]
    """Their size in bytes."""
    stopped: Long
    """How long the VM was stopped, in nanoseconds."""
    whole: Boolean
    """Whether the pass was complete."""


class HeapScanned(NamedTuple):
    """The counts of a pass."""

    rows: Long
    missed: Long
    """Objects without a row."""
    strings: Long
    missed_text: Long
    """Strings without their text."""
    text: Long
    """Bytes of text."""
    values: Long
    """Bytes of primitive fields."""
    elements: Long
    """Bytes of elements of primitive arrays."""
    stopped: Long
    """How long the VM was stopped, in nanoseconds."""
    whole: Boolean
    """Whether the pass was complete."""
    fields: list[Long]
    """Of each class in the order of its values, as rows of `jvmti.layouts.heap_passes.FIELD`."""


class FoundInHeap(NamedTuple):
    """The objects that the pass found again."""

    objects: list[Object]
    places: Annotated[list[Long], SameCount()]
    """The position of each in the request."""
    stopped: Long
    """How long the VM was stopped, in nanoseconds."""
    different: Long
    """How many had another size than expected."""
    whole: Boolean
    """Whether the pass was complete."""


class TakenInstances(NamedTuple):
    """Instances of classes."""

    objects: list[Object]
    stopped: Long
    """How long the VM was stopped, in nanoseconds."""
    whole: Boolean
    """Whether the pass was complete, or found as many as requested."""


class ReferrersFound(NamedTuple):
    """The referrers of an object; each object and each reference once."""

    objects: list[Object]
    """Its referrers, in no particular order."""
    marks: Annotated[list[Long], SameCount()]
    """The mark of each."""
    edges: list[Long]
    """For each reference seven numbers: the mark of the referrer, 0 for a root; the kind; the
    number of the field, element or slot; of a thread's variable its id, depth and method; whether
    it is weak."""
    total: Long
    """How many references there are, returned or not."""
    stopped: Long
    """How long the VM was stopped, in nanoseconds."""
    whole: Boolean
    """Whether the pass was complete."""


class PathFound(NamedTuple):
    """A shortest path from a root to an object."""

    objects: list[Object]
    """The objects on it, in no particular order, but for the last."""
    marks: Annotated[list[Long], SameCount()]
    """The mark of each."""
    edges: list[Long]
    """As in `ReferrersFound`, from the root on; without a root the first object is a class."""
    passes: Int
    """The number of passes."""
    found: Boolean
    """Whether there is a path."""
    too_many: Boolean
    """There were too many objects on the way back."""
    stopped: Long
    """How long the VM was stopped, all passes together, in nanoseconds."""
    longest: Long
    """The longest of the passes, in nanoseconds."""
    whole: Boolean
    """Whether the passes were complete."""


class RetainedMeasured(NamedTuple):
    """The retained size of an object."""

    bytes: Long
    """The retained bytes, with the object itself."""
    retained: Long
    """How many objects."""
    reachable: Long
    """How many objects are reachable from it, retained or not."""
    too_many: Boolean
    """More objects are reachable than the limit allowed."""
    stopped: Long
    """How long the VM was stopped, both passes together, in nanoseconds."""
    longest: Long
    """The longer of the passes, in nanoseconds."""
    whole: Boolean
    """Whether the passes were complete."""


class LocalObjects(NamedTuple):
    """Objects that variables of a thread's frames refer to."""

    objects: list[Object]
    """The objects, each once, in no particular order."""
    marks: Annotated[list[Long], SameCount()]
    """The mark of each."""
    places: list[Long]
    """For each variable three numbers: the mark of its object, the depth of its frame, its slot."""
    stopped: Long
    """How long the VM was stopped, in nanoseconds."""


class FrameSlots(NamedTuple):
    """The slots of a frame; those of which the VM says nothing are 0."""

    compiled: Boolean
    """Whether the frame is one of compiled code."""
    numbers: list[Long]
    """For each slot that holds no object its 64 bits, and 0 for the others."""
    kinds: Bytes
    """For each slot ``L`` for an object, ``n`` for a null reference, ``N`` for anything else."""
    objects: list[Object]
    """The objects, in the order of their slots."""


class Values(NamedTuple):
    """Values of any type, one after the other; see `jvmti.model.objects.reading`."""

    data: Bytes
    """How many values, primitive values and texts there are, four bytes each; then eight bytes for
    each primitive value (a ``double`` for the types with a point, else a ``long``); for each text
    how many UTF-16 units of it there are, four bytes; for each value its kind: the letter of its
    primitive type (also of one that came out of its box), ``n`` for null, ``t`` for text, ``u`` for
    text that was cut off, ``l`` for any other object; and the texts, in UTF-16. The contents of an
    object may follow it: ``c``, with how many elements it has, the first of these, and ``e``."""
    objects: list[Object]
    """The other objects."""


class ClassTable(NamedTuple):
    """The loaded classes; the columns that were not asked for are empty."""

    signatures: Bytes
    """The signature of each, followed by a zero byte."""
    loaders: list[ClassLoader]
    """The class loaders, each once."""
    loader_of: list[Int]
    """For each class, the position of its loader from 1; 0 is the bootstrap loader."""
    modules: list[Module]
    """The modules, each once."""
    module_of: list[Int]
    """For each class, the position of its module from 1; 0 for none."""
    modifiers: list[Int]
    """The access flags of each."""
    statuses: list[Int]
    """The status of each."""


class Ancestry(NamedTuple):
    """A class and all its supertypes; the class itself is the first."""

    signatures: Bytes
    """The signature of each, followed by a zero byte."""
    classes: list[Class]
    """The classes, each once."""
    superclasses: list[Int]
    """For each, the position of its superclass from 1; 0 for none."""
    interface_counts: list[Int]
    """For each, the number of its direct interfaces."""
    interfaces: list[Int]
    """Their positions from 1, those of the first class first."""


class ProbedFramePlace(NamedTuple):
    """Where a thread is whose event a probe has reported, while handlers have it."""

    values: ObjectArray | None
    """The array with the variables of its frame; ``None`` if the thread is at no probe."""
    probes: Int
    """The set of the probe."""
    site: Int
    """The site, whose shape says what the array has."""
    depth: Int
    """How many frames are above that of the place."""


class LocatedStack(NamedTuple):
    """The frames of a thread, the most recent first; the lists have a value for each."""

    methods: list[Method]
    """Their methods."""
    locations: list[Long]
    """The bytecode index in each; -1 in a native method."""
    lines: list[Int]
    """The source line of each; -1 if unknown."""
    before: list[Long]
    """The bytecode index in the code without our probes; empty if it was not asked for."""
    depth: Int
    """How many frames the stack has, those included that are beyond the limit."""
    code: Int
    """How often classes had got other code before; see `Operations.step_thread`."""


class ProbeCounts(NamedTuple):
    """The state of a set of probes."""

    classes: Long
    """Class files that got probes; a class counts again each time that it is retransformed."""
    sites: Long
    """Places that got a probe."""
    failed: Long
    """Class files that should have got probes and could not."""
    reason: Long
    """Why the last of these failed: a status of ``jvmti_classfile.h``."""
    left_out: Int
    """Why the last place that should have got a probe did not, of `jvmti.layouts.probes.LeftOut`; 0
    if there is none."""


class ProfileOpened(NamedTuple):
    """A profile that has begun."""

    number: Int
    """Its number."""
    engine: Int
    """The engine that takes the samples, of `jvmti.layouts.profiles.ProfileEngine`."""
    reason: Text
    """The reason why a better engine does not; empty for the best."""


class HeldCall(NamedTuple):
    """A call whose objects are held."""

    method: Method
    """The method."""
    objects: ObjectArray
    """The receiver, or null, and what was passed; numbers in boxes."""


class Operations(Calling):
    """The agent's functions beside JVM TI and JNI."""

    @operation(43, runs_java=True)
    def call_extension_function(self, function: ExtensionFunction, arguments: Arguments) -> Bytes:
        """Call an extension function; its outputs, each after its type letter."""
        ...

    @operation(40)
    def count_jni_calls(self, slots: list[Int]) -> None:
        """Count the calls of the JNI functions in these slots, from 0, and of no others."""
        ...

    @operation(41)
    def jni_counts(self) -> JniCounts:
        """How often each JNI function was called, by slot."""
        ...

    @operation(42, runs_java=True)
    def proceed_jni_call(self) -> Bytes:
        """Make the intercepted call of this conversation, and return its result."""
        ...

    @operation(44)
    def read_jni_buffer(self, number: Int, offset: Long, length: Long) -> Bytes:
        """Bytes of memory that the intercepted call passes.

        Args:
            number: which of its buffers.
            offset: where the bytes begin.
            length: how many there are.
        """
        ...

    @operation(45)
    def write_jni_buffer(self, number: Int, offset: Long, data: Bytes) -> None:
        """Write bytes into such memory, if C may write there.

        Args:
            number: which of its buffers.
            offset: where the bytes go.
            data: the bytes.
        """
        ...

    @operation(1)
    def proceed(self) -> None:
        """Let the VM, held in the OnLoad phase, start."""
        ...

    @operation(2)
    def new_env(self, version: Int) -> Int:
        """Create another JVM TI environment, and return its number.

        Args:
            version: the version to ask for (`jvmti.interface.constants`), or 0, the newest.

        JVM TI: the invocation interface's GetEnv.
        """
        ...

    @operation(3)
    def identify(self, object: Object) -> Object:
        """The handle that stands for the identity of an object."""
        ...

    @operation(4)
    def service_threads(self) -> list[Thread]:
        """The agent's own threads in the JVM."""
        ...

    @operation(5)
    def stats(self) -> AgentStats:
        """The agent's gauges and counters."""
        ...

    @operation(6)
    def read_memory(self, mem: Memory, offset: Long, length: Long) -> Bytes:
        """Bytes of memory that came from ``allocate``."""
        ...

    @operation(7)
    def write_memory(self, mem: Memory, offset: Long, data: Bytes) -> None:
        """Put bytes into memory that came from ``allocate``."""
        ...

    @operation(8, runs_java=True)
    def read_direct_buffer(self, buf: Object, offset: Long, length: Long) -> Bytes:
        """Bytes of a direct ``java.nio.ByteBuffer``, bounded by its capacity."""
        ...

    @operation(9, runs_java=True)
    def write_direct_buffer(self, buf: Object, offset: Long, data: Bytes) -> None:
        """Put bytes into a direct ``java.nio.ByteBuffer``, bounded by its capacity."""
        ...

    @operation(10, runs_java=True)
    def describe_throwable(self, throwable: Throwable) -> ThrowableDescription:
        """The class and message of a throwable, read without running Java code."""
        ...

    @operation(11)
    def set_event_handling(
        self, event_type: Event, answered: Boolean, own: Boolean, limit: Long
    ) -> None:
        """Set what an environment does with an event; this enables and disables it.

        Args:
            event_type: the event.
            answered: whether a handler of this controller answers it.
            own: whether to report it if the controller's own work causes it.
            limit: how long the event's thread waits for the answer, in milliseconds; -1 is no
                limit.
        """
        ...

    @operation(20)
    def open_stream(
        self,
        events: list[Int],
        wishes: Int,
        words: Int,
        size: Long,
        stack_depth: Int,
        shortest: Long,
        threads: list[Thread],
        classes: Text | None,
        methods: Text | None,
        exceptions: Text | None,
    ) -> Long:
        """Record events in shared memory that comes with the request; returns the stream's number.

        Args:
            events: their numbers.
            wishes: `jvmti.layouts.streams.Wishes`.
            words: `jvmti.layouts.streams.Words`.
            size: bytes of each lane's ring.
            stack_depth: how many frames of each event's stack to record.
            shortest: the shortest duration to record, in nanoseconds.
            threads: the only threads to record; none means all.
            classes: patterns for names of classes, one a line.
            methods: patterns for names of methods, one a line.
            exceptions: patterns for names of the classes of exceptions, one a line.
        """
        ...

    @operation(21)
    def close_stream(self, number: Long) -> None:
        """Stop recording in a stream and free its memory."""
        ...

    @operation(50)
    def count_heap(self, classes: list[Class], limit: Long) -> HeapCount:
        """Count all objects by class, in one pass.

        Args:
            classes: the classes; all other objects count together.
            limit: milliseconds after which the pass ends; -1 for none.
        """
        ...

    @operation(51)
    def scan_heap(
        self,
        classes: list[Class],
        all: Boolean,
        string_class: Int,
        fields: Boolean,
        arrays: list[Int],
        capacities: list[Long],
        limit: Long,
    ) -> HeapScanned:
        """Write objects into columns, in shared memory that comes with the request.

        Args:
            classes: the classes, which are numbered from 1.
            all: write objects of other classes, too, with the number 0.
            string_class: the number of ``java.lang.String``, to have its texts; 0 for no texts.
            fields: write the values of primitive fields.
            arrays: the numbers of the classes of primitive arrays whose elements to write.
            capacities: the most rows, strings, and bytes of text, values and elements, in
                the order of `jvmti.layouts.heap_passes.SCAN`.
            limit: milliseconds after which the pass ends; -1 for none.
        """
        ...

    @operation(52)
    def find_in_heap(
        self,
        classes: list[Class],
        of: list[Int],
        ordinals: list[Long],
        sizes: list[Long],
        lengths: list[Int],
        limit: Long,
    ) -> FoundInHeap:
        """Find objects again that an earlier pass visited.

        Args:
            classes: the classes, which are numbered from 1.
            of: for each object, the number of its class; in order.
            ordinals: which object of its class it was, from 0; in order within a class.
            sizes: its size in bytes; -1 where that is not known.
            lengths: its length if it is an array, else -1.
            limit: milliseconds after which the pass ends; -1 for none.
        """
        ...

    @operation(53)
    def take_instances(self, classes: list[Class], most: Long, limit: Long) -> TakenInstances:
        """The first instances of classes that a pass visits.

        Args:
            classes: the classes, without their subclasses.
            most: how many at most.
            limit: milliseconds after which the pass ends; -1 for none.
        """
        ...

    @operation(54, runs_java=True)
    def find_referrers(
        self, object: Object, most: Int, weak: Boolean, limit: Long
    ) -> ReferrersFound:
        """The referrers of an object that are reachable from a root that is not ours.

        Args:
            object: the object.
            most: how many references to return.
            weak: whether weak and phantom references count.
            limit: milliseconds after which the pass ends; -1 for none.
        """
        ...

    @operation(55, runs_java=True)
    def find_path(self, object: Object, most: Long, weak: Boolean, limit: Long) -> PathFound:
        """A shortest path to an object from a root that is not ours, or a class that stays.

        Args:
            object: the object.
            most: how many objects to look back from.
            weak: whether it may lead through weak and phantom references.
            limit: milliseconds after which the passes end; -1 for none.
        """
        ...

    @operation(56, runs_java=True)
    def measure_retained(self, object: Object, most: Long, limit: Long) -> RetainedMeasured:
        """The objects that are reachable only through an object.

        Args:
            object: the object.
            most: how many reachable objects to visit at most.
            limit: milliseconds after which the passes end; -1 for none.
        """
        ...

    @operation(86, runs_java=True)
    def local_objects(self, thread: Thread, depth: Int) -> LocalObjects:
        """The objects that variables of a thread's frames refer to, without a capability for it.

        Args:
            thread: the thread, suspended or at an event.
            depth: the only frame to look at, 0 for the most recent; -1 for all, and for what
                native code of the thread holds, which has the slot -1.

        JVM TI: FollowReferences, which stops at the roots.
        """
        ...

    @operation(142, runs_java=True)
    def frame_slots(self, thread: Thread, depth: Int) -> FrameSlots:
        """Read the slots of a frame of the current thread, without a capability for it.

        Args:
            thread: the thread, which is that of the event that is being handled.  For any other
                the call raises THREAD_NOT_SUSPENDED.
            depth: the frame, 0 for the most recent.
        """
        ...

    @operation(57)
    def open_temporary_file(self, free_bytes: Long) -> Text:
        """A name in the VM for a file whose descriptor comes with the request.

        It is valid until it is returned, or the session ends.

        Args:
            free_bytes: what the directory needs if the VM writes more files beside it, else 0.
                Without such a directory the call raises NOT_AVAILABLE.
        """
        ...

    @operation(58)
    def close_temporary_file(self, name: Text) -> None:
        """Take back a name of `open_temporary_file`, and close the file in the VM."""
        ...

    @operation(59)
    def agent_references(self) -> AgentReferences:
        """The references that the agent holds, of all sessions."""
        ...

    @operation(90)
    def create_stop_request(
        self,
        event_type: Event,
        locals: Int,
        every: Int,
        after: Long,
        kinds: Int,
        threads: list[Thread],
        callers: Text | None,
        classes: Text | None,
    ) -> Int:
        """Create a stop request for an event, without a location; returns its number.

        Args:
            event_type: the event.
            locals: the environment that its conditions read local variables in.
            every: report only every n-th hit, or for 0 only the first,
            after: beyond this many.
            kinds: of exceptions: 1 for those that will be caught, 2 for others, 3 for both.
            threads: the only threads that stop; none means all.
            callers: patterns for the caller, as in ``com.acme.Order.add``, one a line.
            classes: patterns for the class that is prepared, redefined or thrown, or that a step
                into calls passes over, one a line.
        """
        ...

    @operation(91)
    def install_breakpoint(
        self,
        number: Int,
        method: Method,
        location: Location,
        condition: list[Long],
        texts: Bytes,
        fields: list[Field],
        counted: Boolean,
    ) -> None:
        """Add a breakpoint to a stop request; others may have one there, too.

        Args:
            number: the stop.
            method: where.
            location: where in the method.
            condition: rows of `jvmti.layouts.conditions.INSTRUCTION`; none for no condition.
            texts: the texts that they compare with, in UTF-16.
            fields: the fields that they read, of instances.
            counted: count each hit for which the condition holds, and report those that count;
                otherwise report all, see `count_hit`.
        """
        ...

    @operation(135)
    def count_hit(self, number: Int) -> Boolean:
        """Count a hit of a breakpoint whose condition the controller has decided.

        Args:
            number: the stop.

        Returns:
            Whether it is one of those that the request is for.
        """
        ...

    @operation(82)
    def uninstall_breakpoint(self, number: Int, method: Method, location: Location) -> None:
        """Remove a breakpoint from a stop request, and clear it if no other request has it.

        Args:
            number: the stop.
            method: the method.
            location: where in the method.
        """
        ...

    @operation(132)
    def open_stop_records(self) -> None:
        """Record hits of breakpoints in memory whose descriptor comes with the request, once in a
        session. `jvmti.layouts.conditions` lays it out.
        """
        ...

    @operation(92)
    def install_watchpoint(self, number: Int, klass: Class, field: Field) -> None:
        """Add a watched field to a stop request; others may watch it, too.

        Args:
            number: the stop.
            klass: the class of the field.
            field: the field.
        """
        ...

    @operation(93)
    def remove_stop_request(self, number: Int) -> None:
        """End a stop request; clears breakpoints and watches that no other request shares.

        Args:
            number: the stop.
        """
        ...

    @operation(94)
    def step_thread(
        self,
        number: Int,
        thread: Thread,
        how: Int,
        by_line: Boolean,
        probes: Int,
        ends: Boolean,
        code: Int,
        calls: Bytes,
    ) -> None:
        """Let a thread run for one step, and report that once.

        Args:
            number: the stop.
            thread: the thread.
            how: 1 into calls, 2 over them, 3 out of the method.
            by_line: to another line, instead of another instruction.
            probes: the set of probes that report where the thread is; 0: the VM does.
            ends: with probes, the step goes no further than to the end of its method.
            code: refuse the step if a class has got other code since a stack had this number; -1
                never does.
            calls: made where the step ends, as a batch has them; their replies come with the
                report. Empty makes none.

        Raises:
            InvalidLocation: a class has got other code since then.
        """
        ...

    @operation(96, runs_java=True)
    def open_probes(
        self,
        plan: Bytes,
        shortest: Long,
        record_size: Int,
        text_size: Int,
        held: Int,
        loader: ClassLoader | None,
    ) -> Int:
        """Put probes into classes from now on, also into those that are loaded later.

        They write to memory that comes with the request.

        Args:
            plan: see `jvmti.layouts.probes`; the probes call the agent's helper class.
            shortest: the shortest call to record, in nanoseconds.
            record_size: bytes of a record, a power of two.
            text_size: bytes of the text of an object in it.
            held: of how many calls the objects are held, the last ones.
            loader: only classes of this loader get any.

        Returns:
            The number of this set of probes.
        """
        ...

    @operation(110, runs_java=True)
    def open_stop_probes(self, plan: Bytes, stop: Int) -> Int:
        """Have probes that stop threads put into classes from now on, as `open_probes` does.

        Args:
            plan: as `jvmti.layouts.probes` lays it out; each of its probes stops, or keeps when a
                call began.
            stop: the request that they are for, of the environment of the call.

        Returns:
            The number of this set of probes.
        """
        ...

    @operation(120, runs_java=True)
    def open_event_probes(self, plan: Bytes) -> Int:
        """Have probes that report events of JVM TI put into classes from now on.

        Args:
            plan: as `jvmti.layouts.probes` lays it out; each of its probes has an event.

        Returns:
            The number of this set of probes.
        """
        ...

    @operation(141, runs_java=True)
    def open_park_probes(self, plan: Bytes, profile: Int, shortest: Long) -> Int:
        """Have probes put into locks from now on that report parked threads to a profile.

        Args:
            plan: as `jvmti.layouts.probes` lays it out.
            profile: the number of the profile, which is of locks.
            shortest: the shortest time to report, in nanoseconds.

        Returns:
            The number of this set of probes.
        """
        ...

    @operation(121)
    def change_event_probes(self, number: Int, plan: Bytes) -> None:
        """Give a set of probes that report events another plan.

        Classes get what it says when they are loaded or retransformed next.

        Args:
            number: the set.
            plan: as for `open_event_probes`.
        """
        ...

    @operation(122)
    def enable_probed_event(
        self, number: Int, on: Boolean, event_type: Event, thread: Thread | None
    ) -> None:
        """Switch an event that probes report on or off, for the environment of the call.

        Args:
            number: the set.
            on: on or off.
            event_type: the event.
            thread: the only thread; ``None`` for all.
        """
        ...

    @operation(123)
    def watch_by_probes(self, number: Int, klass: Class, field: Field) -> Int:
        """Number a field, for probes that report its accesses.

        Args:
            number: the set.
            klass: the class of the field.
            field: the field.
        """
        ...

    @operation(124)
    def await_probed_pop(self, number: Int, thread: Thread | None, from_bottom: Int) -> None:
        """Report the end of a frame whose method has probes at its ends, once.

        Args:
            number: the set.
            thread: its thread; ``None`` for the current one.
            from_bottom: how many frames the stack has while it is on top.

        Raises:
            Duplicate: the environment waits for it already.
        """
        ...

    @operation(125)
    def clear_probed_pops(self, number: Int, thread: Thread) -> None:
        """Report no end of a frame of a thread that the environment of the call waits for.

        Args:
            number: the set.
            thread: the thread.
        """
        ...

    @operation(126)
    def forget_probed_events(self, number: Int) -> None:
        """Report nothing more to the environment of the call.

        Args:
            number: the set.
        """
        ...

    @operation(127)
    def locate_before_probes(self, methods: list[Method], locations: list[Long]) -> list[Long]:
        """The bytecode indices that instructions had before their methods got probes.

        Args:
            methods: the method of each location.
            locations: their bytecode indices now.
        """
        ...

    @operation(130, runs_java=True)
    def read_class_file(self, klass: Class, before_probes: Boolean) -> Bytes:
        """The class file of a loaded class.

        A retransformation begins and is refused, so the class stays as it is, and no code is
        discarded. Changes of the class by others meanwhile are theirs.

        Args:
            klass: the class.
            before_probes: as the agent's probes found it, instead of as the VM runs it.

        JVM TI: RetransformClasses, ClassFileLoadHook.
        """
        ...

    @operation(128)
    def find_probed_frame(self, thread: Thread | None) -> ProbedFramePlace:
        """Where a thread is whose event a probe has reported, while handlers have it.

        Args:
            thread: the thread; ``None`` for the current one.
        """
        ...

    @operation(129)
    def get_stopped_values(self, number: Int) -> ObjectArray | None:
        """The array with the variables of a thread that has stopped at a probe.

        ``None`` if no thread of the session waits under the number, or memory is short.

        Args:
            number: the number that came with the stop.
        """
        ...

    @operation(131)
    def locate_stack(self, thread: Thread, most: Int, before: Boolean) -> LocatedStack:
        """The stack of a thread with the lines of its frames.

        Args:
            thread: the thread.
            most: frames at most.
            before: look up the places in the code without our probes, too.

        JVM TI: GetStackTrace, GetFrameCount, GetLineNumberTable.
        """
        ...

    @operation(97, runs_java=True)
    def place_probes(self, number: Int, classes: list[Class]) -> None:
        """Put probes into loaded classes.

        Args:
            number: the set.
            classes: the classes; if one cannot be changed, none is.
        """
        ...

    @operation(140)
    def select_classes(
        self,
        classes: list[Class],
        supertypes: Text | None,
        loaders: Text | None,
        loader: ClassLoader | None,
    ) -> Bytes:
        """The classes that patterns choose by what no class file says.

        Args:
            classes: the classes.
            supertypes: a pattern for a superclass or an interface of theirs, however far up.
            loaders: a pattern for the name or the class of their loader.
            loader: their loader itself.

        Returns:
            A byte for each class, 1 for a chosen one.
        """
        ...

    @operation(98)
    def count_probes(self, number: Int) -> ProbeCounts:
        """The state of a set.

        Args:
            number: the set.
        """
        ...

    @operation(99)
    def read_probe_sites(self, number: Int, offset: Long) -> Bytes:
        """Where the probes are: `jvmti.layouts.probe_memory.PROBE_SITE` and texts each.

        Args:
            number: the set.
            offset: how many bytes have been read before.
        """
        ...

    @operation(100)
    def read_recorded_classes(self, number: Int, offset: Long) -> Bytes:
        """The signatures of classes of objects in records, each followed by a zero; the first is 1.

        Args:
            number: the set.
            offset: how many bytes have been read before.
        """
        ...

    @operation(102)
    def read_tally_keys(self, number: Int, offset: Long) -> Bytes:
        """The keys by which calls are counted: each an object as in a record, with space for its
        text.

        Args:
            number: the set.
            offset: how many bytes of it have been read before.
        """
        ...

    @operation(103)
    def take_held_call(self, number: Int, sequence: Long) -> HeldCall:
        """The objects of a call that a set holds; it holds them no longer.

        Args:
            number: the set.
            sequence: its number, from the record.

        Raises:
            IllegalArgument: they are not held any more.
        """
        ...

    @operation(101, runs_java=True)
    def close_probes(self, number: Int) -> None:
        """Remove the probes from all classes; they do nothing as soon as this begins.

        Args:
            number: the set.
        """
        ...

    @operation(111, runs_java=True)
    def open_profile(
        self,
        kind: Int,
        engine: Int,
        interval: Long,
        depth: Int,
        exact: Boolean,
        threads: Text | None,
    ) -> ProfileOpened:
        """Take samples of stacks from now on.

        Args:
            kind: of `jvmti.layouts.profiles.ProfiledKind`.
            engine: of `jvmti.layouts.profiles.ProfileEngine`.
            interval: nanoseconds or bytes from one sample to the next; of locks the shortest wait.
                Of processor and wall-clock time at least 100,000.
            depth: frames of a stack at most.
            exact: have code compiled with debug information for inlined methods where the VM can.
            threads: patterns for the names of platform threads, one a line; null for all. For
                samples at safepoints only.

        Raises:
            NotAvailable: no engine works, or another profile has what it needs.

        JVM TI: GetStackTrace, GetThreadCpuTime, GetAllThreads, and HotSpot's AsyncGetCallTrace.
        """
        ...

    @operation(112)
    def read_profile(self, number: Int) -> Bytes:
        """The samples since the last call, as `jvmti.layouts.profiles` lays them out.

        Args:
            number: the profile.
        """
        ...

    @operation(113, runs_java=True)
    def stop_profile(self, number: Int) -> None:
        """Take no more samples; those that were taken can still be read.

        Args:
            number: the profile.
        """
        ...

    @operation(114, runs_java=True)
    def close_profile(self, number: Int) -> None:
        """Stop a profile and free its memory.

        Args:
            number: the profile.
        """
        ...

    @operation(95)
    def count_stop_hits(self, number: Int) -> Long:
        """How often threads have hit a request, reported or not.

        Args:
            number: the stop.
        """
        ...

    @operation(80, runs_java=True)
    def suspend(self, threads: list[Thread], key: Long) -> list[Int]:
        """Suspend threads until `resume` receives the same key.

        A thread that several keys suspend resumes with the last of them. One that others have
        suspended stays suspended; the current thread keeps running.

        Args:
            threads: the threads.
            key: any number but 0 that this session has not used before.

        Returns:
            For each thread 0, or the error code of its suspension.
        """
        ...

    @operation(81, runs_java=True)
    def resume(self, key: Long) -> None:
        """Undo `suspend` for a key, even if it has not finished.

        Args:
            key: the key; an unknown or finished one does nothing.
        """
        ...

    @operation(84, runs_java=True)
    def enter_monitor(self, object: Object, key: Long) -> None:
        """Enter the monitor of an object, until `leave_monitor` receives the same key.

        Args:
            object: the object.
            key: any number but 0 that this session has not used before.

        JNI: MonitorEnter.
        """
        ...

    @operation(85, runs_java=True)
    def leave_monitor(self, key: Long) -> None:
        """Leave the monitor that `enter_monitor` entered for a key, on the same thread.

        Args:
            key: the key; an unknown or finished one does nothing.

        JNI: MonitorExit.
        """
        ...

    @operation(60)
    def read_fields(
        self, object: Object, fields: list[Field], unbox: Boolean, text: Int, same: Boolean
    ) -> Values:
        """The values of fields of an object, including static ones of its classes.

        Args:
            object: the object.
            fields: which.
            unbox: return boxed values as primitive ones.
            text: UTF-16 units of each text at most; -1 for all.
            same: return the existing handle of an object that has one.
        """
        ...

    @operation(61)
    def read_elements(
        self,
        array: ObjectArray,
        start: Int,
        len: Int,
        unbox: Boolean,
        text: Int,
        same: Boolean,
    ) -> Values:
        """Elements of an array of references, fewer at its end.

        Args:
            array: the array.
            start: the first.
            len: how many.
            unbox: return boxed values as primitive ones.
            text: UTF-16 units of each text at most; -1 for all.
            same: return the existing handle of an object that has one.
        """
        ...

    @operation(133)
    def show_fields(
        self, object: Object, fields: list[Field], sized: list[Field], items: Int, text: Int
    ) -> Values:
        """The values of fields of an object, and how each array or list among them begins.

        Args:
            object: the object.
            fields: which.
            sized: pairs of fields of lists: how many elements one has, and the array with them.
            items: elements of each array or list at most.
            text: UTF-16 units of each text among these at most; -1 for all.
        """
        ...

    @operation(134)
    def show_variables(
        self,
        thread: Thread | None,
        values: ObjectArray | None,
        sized: list[Field],
        items: Int,
        text: Int,
    ) -> Values:
        """The values in the array of a probe, numbers out of their boxes, and how each array or
        list among them begins.

        Args:
            thread: at an event that the probe has reported; needed without an array.
            values: the array, where it is known.
            sized, items, text: as for `show_fields`.
        """
        ...

    @operation(62)
    def read_linked(
        self,
        start: Object,
        next: Field,
        aside: list[Field],
        fields: list[Field],
        most: Int,
        unbox: Boolean,
        text: Int,
        same: Boolean,
    ) -> Values:
        """The values of fields of objects that are linked with each other.

        Args:
            start: the first of them, or an array of such.
            next: the field that refers to the next; objects that have no such field end the list.
            aside: an object that has one of these fields is not an item: the list continues where
                the field refers to. If that is a larger array, it continues at the positions that
                are a multiple of the former length further.
            fields: which fields of each.
            most: objects at most.
            unbox: return boxed values as primitive ones.
            text: UTF-16 units of each text at most; -1 for all.
            same: return the existing handle of an object that has one.
        """
        ...

    @operation(63)
    def read_tree(
        self,
        root: Object,
        left: Field,
        right: Field,
        fields: list[Field],
        most: Int,
        unbox: Boolean,
        text: Int,
        same: Boolean,
    ) -> Values:
        """The values of fields of objects that form a binary tree, in its order.

        Args:
            root: the uppermost of them.
            left: the field that refers to the objects before one.
            right: the field that refers to the objects after it.
            fields: which fields of each.
            most: objects at most.
            unbox: return boxed values as primitive ones.
            text: UTF-16 units of each text at most; -1 for all.
            same: return the existing handle of an object that has one.
        """
        ...

    @operation(70)
    def list_classes(self, loaders: Boolean, details: Boolean) -> ClassTable:
        """The names of all loaded classes, without a handle for each.

        Args:
            loaders: return their loaders as well.
            details: return modules, access flags and statuses as well.
        """
        ...

    @operation(71)
    def find_classes(self, signatures: Bytes) -> list[Class]:
        """The loaded classes with the given signatures.

        Args:
            signatures: the signatures, each followed by a zero byte.
        """
        ...

    @operation(83)
    def ancestry(self, klass: Class) -> Ancestry:
        """A class with its superclasses and all their interfaces, direct or not.

        Args:
            klass: the class.
        """
        ...

    @operation(72)
    def class_of_field(self, field: Field) -> Class:
        """The class in which a field was looked up, which may have inherited it."""
        ...

    @operation(31)
    def refuse(self, result: Int) -> None:
        """Keep a VM that is held in the OnLoad phase from starting: its process exits with status
        1.

        Args:
            result: what ``Agent_OnLoad`` returns; not 0.
        """
        ...


OPERATIONS = declarations(Operations)
