"""Puts small faults into the agent and the package, one at a time, and says which test finds each.

``python scripts/mutations.py`` goes through all of them, ``--only 1,2,5-9`` through some, ``--list``
shows them.  Each is put into a work tree of its own, a temporary one of the last commit with its own
build, and the tests look for it on the newest JVM: first those that are likely to find it, then those of
`make quick`, then all that are not slow.  Only a test that pytest names as failed finds a fault: not a run that
breaks off, nor tests that cannot be collected.  Tests that fail here without a fault are left out from
the beginning.  At the end the tests that found something run
without any fault: one that fails then as well has found nothing.

A fault is an exact piece of text in the only file of that name that has it, where it is there first;
where no file has it any more, the script says so and fails: a list that has gone stale shows nothing.
So does a fault that does not compile.  A fault that nothing finds needs a test.
"""

# ruff: noqa: E501  the list is a table

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, NoReturn

ROOT = Path(__file__).resolve().parents[1]


class Mutation(NamedTuple):
    """A fault: what it is, where, the text before and after, and the tests that are likely to find it."""

    what: str
    file: str
    before: str
    after: str
    likely: str


CALLS = "tests/conformance/threads/test_thread.py tests/conformance/classes/test_class.py tests/wire/test_columns.py"
HEAP = "tests/heap/live/test_scan.py tests/heap/live/test_live_rows.py tests/heap/live/test_referrers.py"
WALKS = "tests/conformance/objects/test_heap_walks.py"
STOPS = "tests/debug/test_stops.py"
STREAMS = "tests/events/streams/test_streams.py"
HANDLERS = "tests/events"
JNI = "tests/conformance"
LEAVING = "tests/robustness/leaving/test_leaving.py tests/robustness/stopped/test_locks.py"
MODEL = "tests/model"
CLASSES = "tests/classfile/test_class_files.py"
PROBES = "tests/instrumentation tests/tracing"
TRACING = "tests/tracing"
PROFILING = "tests/profiling/test_cpu.py"
EMULATION = "tests/emulation"

MUTATIONS = (
    # ---- the agent: calls and handles
    Mutation("a handle's generation is not compared", "slots.h", "0xFFFFFF)", "0x0)", f"{CALLS} tests/wire/test_wrong_handles.py"),
    Mutation("a handle that is issued twice counts once", "handles.cpp", "      ++entry->count;", "      ;", "tests/model tests/wire/test_codecs.py"),
    Mutation("an object is not identified by its tag", "handles.cpp", "if (identify) tags->SetTag", "if (!identify) tags->SetTag", MODEL),
    Mutation("a call on a thread is not measured against its stack", "guards.cpp", "return call.refuse(JVMTI_ERROR_INVALID_OBJECT", "return !call.refuse(JVMTI_ERROR_INVALID_OBJECT", "tests/robustness/calls/test_nulls.py tests/conformance"),
    Mutation("an abstract method is called", "guards_jni.cpp", "(details->modifiers & 0x0400) != 0", "(details->modifiers & 0x0400) > 0x0400", JNI),
    Mutation("a receiver of any class is taken", "guards_jni.cpp", "if (receiver != nullptr && !is_instance", "if (receiver == nullptr && !is_instance", f"{JNI} tests/wire/test_wrong_handles.py"),
    Mutation("a slot is taken in the middle of a long", "guards_local.cpp", "found.type == '\\0' || found.type == kSecondHalf", "found.type == '\\0'", "tests/model/test_frames.py tests/robustness/calls/test_nulls.py"),
    Mutation("a batch stops after its first call", "requests.cpp", "i < count && !out.failed() && !session.ending(); ++i", "i < 1 && !out.failed() && !session.ending(); ++i", "tests/target/test_ways_in.py tests/wire/test_codecs.py tests/conformance tests/wire/test_columns.py"),
    Mutation("a column of arguments is shifted", "requests.cpp", "for (int i = 0; i < parameters; ++i) {", "for (int i = 1; i < parameters; ++i) {", "tests/wire/test_columns.py"),
    Mutation("short frames are cut", "channel_socket.cpp", "parts[0] = {whole, sizeof header + size};", "parts[0] = {whole, sizeof header};", CALLS),
    Mutation("another number of a session's environments", "environments.cpp", "return number != 0 && number <= all_.size() && all_[number - 1]->disposed;", "return false;", "tests/robustness/leaving/test_interruptions.py tests/events"),
    # ---- the agent: events, streams, stops
    Mutation("own work is reported in streams", "recording.h", "if (!stream_->own_work_ && ours()) continue;", "if (false && ours()) continue;", STREAMS),
    Mutation("a stream has no time", "recording.h", "if (stream_->words_ & layouts::Words::kTime) time();", "if (false) time();", STREAMS),
    Mutation("objects are not filtered", "recording.h", "if (object == nullptr || !usable()) return Stream::kWanted;", "return Stream::kWanted;", STREAMS),
    Mutation("exceptions match every pattern", "stream_names.cpp", "if (matches_any(exception_patterns_.get(), name)) return true;", "return true;", f"{STREAMS} tests/commands/test_events_command.py"),
    Mutation("an event's environment is not pinned", "event_scope.cpp", "environment->in_flight.fetch_add(1);", "environment->in_flight.fetch_add(0);", LEAVING),
    Mutation("a channel is not given back", "event_scope.cpp", "session.event_channels.give_back(channel_, !lost_);", "session.event_channels.give_back(channel_, false);", HANDLERS),
    Mutation("every hit counts as the first", "stop_hits.cpp", "request->passes.fetch_add(1) + 1", "request->passes.fetch_add(0) + 1", STOPS),
    Mutation("a breakpoint of a thread stops others", "stop_hits.cpp", "for (size_t i = 0; i < request->threads.size(); ++i) {", "for (size_t i = 0; i <= request->threads.size(); ++i) { return true;", STOPS),
    Mutation("== is != in conditions", "stop_condition.cpp", "      return left == right;", "      return left != right;", STOPS),
    Mutation("fields of null are not false", "stop_condition.cpp", "if (owner == nullptr) return Found::kFalse;", "if (owner == nullptr) return Found::kTrue;", STOPS),
    Mutation("<= is < in conditions", "stop_condition.cpp", "      return left <= right;", "      return left < right;", STOPS),
    Mutation("a step out stops at once", "stepping.cpp", "if (depth < stepping.depth) return Arrival::kArrived;", "if (depth <= stepping.depth) return Arrival::kArrived;", STOPS),
    Mutation("a step stops inside lines", "stepping.cpp", "return line >= 0 && starts ? Arrival::kArrived : Arrival::kGoOn;", "return Arrival::kArrived;", STOPS),
    Mutation("every class of exceptions is caught", "class_names.cpp", "matches_any(patterns, name)) return true;", "true) return true;", STOPS),
    # ---- the agent: heap
    Mutation("a walk waits for no callback", "heap_walk.cpp", "if (modes_[static_cast<int>(visit)] == CallbackMode::kAtOnce)", "if (false)", WALKS),
    Mutation("the last block of a walk is lost", "heap_walk.cpp", "if (error == JVMTI_ERROR_NONE && !over_ && order_.size() > 0) send(nullptr, nullptr);", "", WALKS),
    Mutation("a referrer is taken for the object", "heap_walk.cpp", "if (referrer_tag == tag) about", "if (referrer_tag != tag) about", WALKS),
    Mutation("the class column of a scan is off by one", "heap_scan.cpp", "class_[rows] = static_cast<uint32_t>(class_tag);", "class_[rows] = static_cast<uint32_t>(class_tag) + 1;", HEAP),
    Mutation("sizes are not in units", "heap_scan.cpp", "static_cast<uint32_t>(size / kUnits)", "static_cast<uint32_t>(size)", HEAP),
    Mutation("places of found objects keep the tag", "heap_find.cpp", "(*places)[i] -= kFoundTag;", "(*places)[i] -= 0;", HEAP),
    Mutation("roots of ours are shown", "heap_referrers.cpp", "if (root && trace.ours(kind, info, *tag)) return 0;", "", f"{HEAP} tests/heap/live/test_own_references.py"),
    Mutation("retained sizes count the target's owners", "heap_referrers.cpp", "if ((mark.flags & kTarget) != 0) return 0;", "", HEAP),
    # ---- the agent: values, JNI, ends
    Mutation("boxes are not opened", "value_writer.cpp", "if (!jni_->IsInstanceOf(value, known.boxes[i])) continue;", "continue;", MODEL),
    Mutation("one element too many is read", "object_reader.cpp", "i - first < length.c() && writer.good(); ++i", "i - first <= length.c() && writer.good(); ++i", MODEL),
    Mutation("verbose output stays on", "session_end.cpp", "for (jint flag = 1; flag <= 4; flag *= 2) {", "for (jint flag = 8; flag <= 4; flag *= 2) {", "tests/robustness/leaving/test_leaving.py"),
    Mutation("counted JNI functions stay counted", "jni_interception.cpp", "for (int slot = 0; slot < kJniSlots; ++slot) counted[slot] = python_has[slot] = false;", "", "tests/conformance tests/events"),
    # ---- the package: what travels
    Mutation("sequence numbers do not grow", "channel.py", "sequence = self._sequence = (self._sequence + 1) & 0xFFFFFFFF", "sequence = self._sequence = 1", "tests/events/handlers/test_handlers.py tests/robustness/leaving/test_interruptions.py"),
    Mutation("a late reply is taken for the next", "channel.py", "            self.late.pop(got, None)", "            pass", "tests/robustness/leaving/test_interruptions.py tests/target/test_ways_in.py"),
    Mutation("the digest is not looked at", "session.py", "if digest is not None and self.greeting.digest != digest:", "if False:", "tests/wire/test_layouts.py"),
    Mutation("requests of any length are sent", "channel.py", "if len(payload) > _LONGEST:", "if False:", "tests/conformance/classes/test_redefinition.py"),
    Mutation("the kind of a handle is shifted", "columns.py", "cls = self.session.classes[handle >> 56]", "cls = self.session.classes[handle >> 57]", "tests/wire/test_columns.py"),
    Mutation("surrogates are off by one", "modified_utf8.py", "    code -= 0x10000", "    code -= 0x10001", "tests/wire/test_codecs.py"),
    Mutation("text is shown one character short", "printable.py", "if most is not None and len(text) > most:", "if most is not None and len(text) >= most:", "tests/commands/test_commands.py"),
    Mutation("the last row of a record list is dropped", "declare.py", "if len(numbers) % self.length:", "if False:", "tests/wire/test_layouts.py"),
    Mutation("columns begin too early", "declare.py", "(size + self.ALIGNMENT - 1) // self.ALIGNMENT", "size // self.ALIGNMENT", "tests/wire/test_layouts.py tests/heap/live/test_scan.py"),
    # ---- the package: events and debugging
    Mutation("stream columns are swapped", "records.py", "at += numpy.dtype(field.code).itemsize", "at += 4", STREAMS),
    Mutation("stacks name unknown methods", "names.py", 'raise ProtocolError("a stack in a stream names a method that was not announced")', "methods = methods * 0", "tests/wire/test_layouts.py tests/events"),
    Mutation("waits are sorted the wrong way", "waits.py", 'key=lambda row: -row["duration"]', 'key=lambda row: row["duration"]', "tests/commands/test_locks_command.py tests/commands/test_events_command.py"),
    Mutation("a variable is there one instruction too long", "conditions.py", "variable.start_location <= location < variable.start_location + variable.length", "variable.start_location <= location <= variable.start_location + variable.length", STOPS),
    Mutation("text constants are cut", "conditions.py", "units = texts[2 * start : 2 * (start + length)]", "units = texts[2 * start : 2 * (start + length) - 2]", STOPS),
    Mutation("a block of one record is read as several", "heap_walks.py", "if size == visits.record.size:", "if size >= visits.record.size:", WALKS),
    # ---- the package: the model
    Mutation("longs take one slot", "variables.py", 'slot += 2 if signature in "JD" else 1', "slot += 1", MODEL),
    Mutation("lengths of texts are read for objects", "reading.py", "text_at = letters_at + count", "text_at = letters_at + count + 1", MODEL),
    Mutation("a capability of another environment is never found", "capability_pool.py", "own is not None\n", "False\n", "tests/model/test_capability_pool.py"),
    Mutation("ints and longs are mixed up", "conversion.py", 'return "I" if value <= LIMITS["I"][1] else "J"', 'return "J"', "tests/model/test_objects_values.py"),
    Mutation("a dead lock is not seen", "locks.py", "if lock not in found[number].owned:", "if lock in found[number].owned:", MODEL),
    Mutation("counts of a tree are lost", "tree.py", "        node.count += count", "        node.count = count", "tests/model/test_stack_tree.py"),
    # ---- the package: heap, class files, target
    Mutation("strings of a scan are cut", "scan.py", "rows = numpy.flatnonzero(self.class_number == number)[: len(self._string_words)]", "rows = numpy.flatnonzero(self.class_number == number)[1 : len(self._string_words)]", HEAP),
    Mutation("classes are suspects", "leaks.py", "top = top[(dump.extent[top] & EXTENT_CLASS) == 0]", "top = top[(dump.extent[top] & EXTENT_CLASS) != 0]", "tests/heap/test_leaks.py"),
    Mutation("long constants take one place", "constant_pool.py", "index += 2 if tag in (5, 6) else 1", "index += 1", CLASSES),
    Mutation("jumps are relative to the file", "opcodes.py", "target = at + reader.s2()", "target = reader.s2()", CLASSES),
    Mutation("signed bytes are unsigned", "reading.py", "return (self.u1() ^ 0x80) - 0x80", "return self.u1()", CLASSES),
    Mutation("nested types are joined by a dollar", "generic.py", 'found += "." + self.until("<;.")', 'found += "$" + self.until("<;.")', CLASSES),
    Mutation("backslashes in argument files are kept", "command_line.py", 'elif char == "\\\\" and at < len(text):', "elif False:", "tests/target/test_command_line.py"),
    Mutation("options hold anything", "options.py", "    if not _VALUE.match(text):", "    if False:", "tests/target/test_options.py"),
    # ---- probes: in class files, in the agent, in the package
    Mutation("a handler protects another range", "tables.cpp", "out_->u2(moves_.target(handlers.u2()));", "out_->u2(handlers.u2());", PROBES),
    Mutation("lines stay where the code was", "tables.cpp", "write2(to, mapped(read2(from)));", "write2(to, read2(from));", PROBES),
    Mutation("a long stays when its second slot has something else", "tracker.cpp", "locals_[slot].tag == Tag::kSecond && slot > 0", "false", "tests/instrumentation/test_locals.py"),
    Mutation("a long has no second slot", "tracker.cpp", "if (size == 2) locals_[slot + 1]", "if (false) locals_[slot + 1]", "tests/instrumentation/test_locals.py"),
    Mutation("locals of probes have no space", "copying.cpp", "most_locals_ = max_locals_;", "most_locals_ = max_locals_ - 1;", PROBES),
    Mutation("> is < in conditions of probes", "probe_conditions.cpp", "return (holds & kGreater) != 0;", "return (holds & kLess) != 0;", TRACING),
    Mutation("recorded texts are cut inside characters", "probe_records.cpp", "while (bytes > 0 && (buffer[bytes] & 0xC0) == 0x80) --bytes;", "", TRACING),
    Mutation("the helper is a caller", "probe_records.cpp", "constexpr int kOwnFrames = 3;", "constexpr int kOwnFrames = 2;", TRACING),
    Mutation("probes stay when their session ends", "open_probes.cpp", "if (stage == Stage::kUnlist) session.probes.close_all(jni);", "", TRACING),
    Mutation("a constant on the left is not turned round", "conditions.py", "if holds & Outcomes.LESS else Outcomes(0)", "if holds & Outcomes.GREATER else Outcomes(0)", TRACING),
    Mutation("the last change is not counted", "change.py", "due = -(-self.reached // self._every)", "due = self.reached // self._every", TRACING),
    Mutation("calls in a tree have no end", "calls.py", "while path and path[-1][0] < one.time:", "while False:", TRACING),
    Mutation("records are read twice", "memory.py", "self._read[lane] = until", "self._read[lane] = first", TRACING),
    Mutation("columns of calls are in the order of their sites", "call_table.py", "back[order] = numpy.arange(len(order))", "back[:] = order", "tests/tracing/test_trace.py"),
    # ---- emulated capabilities
    Mutation("an event of a probe is its caller's", "probe_reports.cpp", "jint depth = kHelperFrames;", "jint depth = kHelperFrames + 1;", EMULATION),
    Mutation("a thread is halted where another is", "probe_events.cpp", "!jni->IsSameObject(one->thread, thread)", "jni->IsSameObject(one->thread, thread)", EMULATION),
    Mutation("a monitor is that of the last frame that locked it", "thread_snapshots.py", "found[owned] = min(", "found[owned] = max(", "tests/emulation/test_monitors.py"),
    # ---- profiles
    Mutation("a sample weighs all that its thread has used", "cpu_signals.cpp", "  source.used = used;\n", "", PROFILING),
    Mutation("stacks of one depth are the same", "trace_table.cpp", "0xD6E8FEB86659FD93u + frame", "0xD6E8FEB86659FD93u + 0 * frame", PROFILING),
    Mutation("a profile that ends keeps the signal", "cpu_signals.cpp", "signalled.compare_exchange_strong(own, 0);", "", PROFILING),
    Mutation("a sampled object weighs no more than itself", "allocated_bytes.cpp", "weight = bytes / chance;", "weight = bytes;", "tests/profiling/test_events.py"),
    Mutation("numbers of a recording have eight bits a byte", "fields.h", "shift < 56; shift += 7", "shift < 56; shift += 8", "tests/profiles/test_recordings.py"),
    Mutation("the later profile has the samples of both", "difference.py", "both.where(slice(len(before), None))", "both.where(slice(0, None))", "tests/profiles/test_profile.py tests/profiles/test_profile_command.py"),
)  # fmt: skip


# Python files of the package from which the agent's sources are generated.
GENERATING = ("layouts", "interface", "declare.py")
SELECTED = ("-m", "not slow and not stress and not root")
UNUSED = (
    "-Wno-unused-parameter -Wno-unused-variable -Wno-unused-but-set-variable -Wno-unused-function"
)


class Outcome(NamedTuple):
    """What became of a fault: found, missed, stale (not in the sources) or broken (does not compile)."""

    number: int
    what: str
    outcome: str
    stage: str = ""
    by: str = ""
    seconds: float = 0.0
    notes: tuple[str, ...] = ()


def find(mutation: Mutation, root: Path = ROOT) -> Path:
    """The only file of that name that has the text.

    Raises:
        LookupError: there is none, or there are several.
    """
    files = [
        path
        for folder in ("native", "src/jvmti")
        for path in (root / folder).rglob(mutation.file)
        if mutation.before in path.read_text()
    ]
    if len(files) != 1:
        raise LookupError(f"{len(files)} files called {mutation.file} have {mutation.before!r}")
    return files[0]


def failed_tests(status: int, output: str) -> list[str]:
    """The tests that pytest names as failed, of a run that came to its end with failures (status 1).

    A file that cannot be collected is named without a test, and counts for nothing.
    """
    if status != 1:
        return []
    return [
        line.split(" - ")[0].split(" ", 1)[1]
        for line in output.splitlines()
        if line.startswith(("FAILED ", "ERROR ")) and "::" in line.split(" - ")[0]
    ]


def numbers_of(text: str) -> list[int]:
    """The numbers that ``1,2,5-9`` names.

    Raises:
        ValueError: it is no such list, or there is no fault of that number.
    """
    chosen: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        chosen += range(int(first), int(last or first) + 1)
    if not chosen or not all(1 <= number <= len(MUTATIONS) for number in chosen):
        raise ValueError(f"faults have numbers from 1 to {len(MUTATIONS)}")
    return chosen


class Tree:
    """A work tree of its own, in which faults are built and looked for."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._clean = False
        self.failing: set[str] = set()

    def run(self, *command: str, limit: float) -> tuple[int, str]:
        """The exit status and the output of a command; whatever it started ends with it.

        Raises:
            subprocess.TimeoutExpired: it took longer than so many seconds.
        """
        environment = {
            **os.environ,
            "JVMTI_TEST_JVMS": os.environ.get("JVMTI_TEST_JVMS", "newest"),
            # What a fault leaves unused is no reason not to build it.
            "CXXFLAGS": UNUSED,
        }
        with subprocess.Popen(
            command,
            cwd=self.root,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        ) as process:
            try:
                output, _ = process.communicate(timeout=limit)
            except BaseException:
                os.killpg(process.pid, signal.SIGKILL)
                raise
        return process.returncode, output

    def build(self, limit: float = 1800) -> str | None:
        """Build what is there; the compiler's words where it does not compile."""
        self._clean = False
        status, output = self.run("make", "-s", "install", limit=limit)
        return output[-2000:] or "no words" if status else None

    def build_clean(self) -> None:
        """Build without a fault, unless the last build was one.

        Raises:
            RuntimeError: the sources do not compile as they are.
        """
        if not self._clean:
            if words := self.build():
                raise RuntimeError(f"the sources do not compile without a fault: {words}")
            self._clean = True

    def tests(self, *arguments: str, limit: float) -> tuple[int, str]:
        """Run pytest; its exit status, not that of make, and its output."""
        python = str(self.root / ".venv/bin/python")
        without = [f"--deselect={test}" for test in sorted(self.failing)]
        return self.run(
            python, "-m", "pytest", "-q", "--no-header", *without, *arguments, limit=limit
        )

    def leave_out(self, numbers: list[int], limit: float) -> None:
        """Find out which tests fail here without a fault: they could hide one that finds it."""
        self.build_clean()
        likely = {name for number in numbers for name in MUTATIONS[number - 1].likely.split()}
        for files in (sorted(likely), [*SELECTED, *self.quick()]):
            status, output = self.tests("-n", "2", *files, limit=limit)
            self.failing |= set(failed_tests(status, output))

    def quick(self) -> list[str]:
        """The tests of `make quick`."""
        _, files = self.run("make", "-s", "--eval=shown: ; @echo $(QUICK)", "shown", limit=60)
        return files.split()

    def stages(self, mutation: Mutation) -> Iterator[tuple[str, list[str]]]:
        """What looks for a fault: a name, and arguments for pytest.

        A run of several workers that stops at the first failure ends like one that was interrupted, so
        only the likely tests, which run in one process, stop there.
        """
        yield "likely", ["-x", "-n", "0", *mutation.likely.split()]
        yield "quick", ["-n", "2", *SELECTED, *self.quick()]
        yield "full", ["-n", "2", *SELECTED, "tests"]

    def look(self, number: int, limit: float) -> Outcome:
        """Put a fault in, look for it for so many seconds, and take it out."""
        mutation, begun = MUTATIONS[number - 1], time.monotonic()
        try:
            path = find(mutation, self.root)
        except LookupError as error:
            return Outcome(number, mutation.what, "stale", notes=(str(error),))
        below = path.relative_to(self.root).parts
        python_only = below[0] == "src" and not set(GENERATING) & set(below)
        if python_only:
            self.build_clean()
        before, notes = path.read_bytes(), []
        stage, by = "", ""
        try:
            path.write_text(path.read_text().replace(mutation.before, mutation.after, 1))
            if not python_only and (words := self.build()):
                return Outcome(number, mutation.what, "broken", notes=(words,))
            end = time.monotonic() + limit
            for stage, arguments in self.stages(mutation):
                try:
                    status, output = self.tests(*arguments, limit=max(end - time.monotonic(), 1))
                except subprocess.TimeoutExpired:
                    notes.append(f"{stage}: over the time limit")
                    break
                if failed := failed_tests(status, output):
                    by = failed[0]
                    break
                if status:
                    notes.append(f"{stage}: pytest ended with {status}, no test named as failed")
        finally:
            path.write_bytes(before)
        took = round(time.monotonic() - begun, 1)
        if not by:
            return Outcome(number, mutation.what, "missed", "", "", took, tuple(notes))
        return Outcome(number, mutation.what, "found", stage, by, took, tuple(notes))

    def without_faults(self, outcomes: list[Outcome], limit: float) -> list[Outcome]:
        """The outcomes, with those as missed whose tests fail without a fault as well."""
        found = sorted({outcome.by for outcome in outcomes if outcome.by})
        if not found:
            return outcomes
        self.build_clean()
        status, output = self.tests("-n", "0", *found, limit=limit)
        failing = set(failed_tests(status, output))
        if status and not failing:
            raise RuntimeError(f"pytest ended with {status} without a fault: {output[-2000:]}")
        note = "this test fails without the fault as well"
        return [
            one._replace(outcome="missed", notes=(*one.notes, note)) if one.by in failing else one
            for one in outcomes
        ]


@contextmanager
def own_tree() -> Iterator[Tree]:
    """A temporary work tree of the last commit; it goes whatever happens."""
    with tempfile.TemporaryDirectory(prefix="mutations-") as folder:
        root = Path(folder) / "tree"
        git = ("git", "-C", str(ROOT), "worktree")
        subprocess.run([*git, "add", "-q", "--detach", str(root), "HEAD"], check=True)
        try:
            (root / ".jvms").symlink_to((ROOT / ".jvms").resolve())
            yield Tree(root)
        finally:
            subprocess.run([*git, "remove", "--force", str(root)], check=True)


def interrupt(*_: object) -> NoReturn:
    """End as at Ctrl-C, so that the work tree goes."""
    raise KeyboardInterrupt


def show_list() -> int:
    """Show the faults; how many do not fit the sources."""
    stale = 0
    for number, mutation in enumerate(MUTATIONS, 1):
        try:
            find(mutation)
            print(f"{number:3} {mutation.file:22} {mutation.what}")
        except LookupError as error:
            stale += 1
            print(f"{number:3} STALE {mutation.what}: {error}")
    return stale


def main() -> int:
    """Go through the faults that were asked for; the exit status is 1 unless all were found."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--only", type=numbers_of, metavar="1,2,5-9", help="which ones (default: all)"
    )
    parser.add_argument("--list", action="store_true", help="show them and check that they fit")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what became of each there")
    parser.add_argument("--limit", type=float, default=1200, help="seconds of tests for each fault")
    given = parser.parse_args()
    if given.list:
        return min(show_list(), 1)
    changed = ["git", "-C", str(ROOT), "status", "--porcelain"]
    if subprocess.run(changed, check=True, capture_output=True).stdout:
        parser.error("there are changes that are not committed")
    signal.signal(signal.SIGTERM, interrupt)
    numbers = given.only or list(range(1, len(MUTATIONS) + 1))
    outcomes: list[Outcome] = []

    def keep() -> None:
        if given.json:
            given.json.write_text(json.dumps([one._asdict() for one in outcomes], indent=1) + "\n")

    with own_tree() as tree:
        tree.leave_out(numbers, 3 * given.limit)
        for test in sorted(tree.failing):
            print(f"left out, it fails without a fault: {test}", flush=True)
        for done, number in enumerate(numbers, 1):
            one = tree.look(number, given.limit)
            outcomes.append(one)
            keep()
            place = f"{one.outcome.upper():6} {one.what} ({one.seconds:.0f} s)"
            print(f"[{done}/{len(numbers)}] {number:3} {place}: {one.stage} {one.by}", flush=True)
            for note in one.notes:
                print(f"        {note}", flush=True)
        outcomes = tree.without_faults(outcomes, given.limit)
        keep()
    not_found = [one for one in outcomes if one.outcome != "found"]
    for one in not_found:
        print(f"{one.number:3} {one.outcome}: {one.what}", file=sys.stderr)
    print(f"{len(outcomes) - len(not_found)} of {len(outcomes)} found")
    return 1 if not_found else 0


if __name__ == "__main__":
    sys.exit(main())
