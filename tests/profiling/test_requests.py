"""Profiles that fall apart into the requests that a program works for."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import numpy
import pytest

import jvmti
from command_line import run
from jvmti.instrumentation.probes import BadProbe
from jvmti.profile.tables import Samples, Threads
from jvmti.profiling.requests import Requests

if TYPE_CHECKING:
    from collections.abc import Iterator

    from programs import JavaProgram, JavaPrograms

BY_PATH = "Serving.handle(request).path"


@pytest.fixture(scope="module")
def serving(shared_java_program: JavaPrograms) -> JavaProgram:
    program = shared_java_program("Serving", jvm_args=["-Xmx128m"])
    program.expect("ready")
    program.ask("serve 20", timeout=60)
    return program


@pytest.fixture(scope="module")
def vm(serving: JavaProgram) -> Iterator[jvmti.VM]:
    with jvmti.attach(serving.pid, timeout=30) as attached:
        yield attached
    assert serving.running()


def spent(answer: str) -> dict[str, int]:
    """What the program says of itself."""
    head, *words = answer.split()
    assert head == "spent"
    return {path: int(number) for path, number in zip(words[::2], words[1::2], strict=True)}


def test_each_request_has_its_time(vm: jvmti.VM, serving: JavaProgram) -> None:
    with vm.profile("cpu", interval=0.001, by=BY_PATH) as profile:
        truth = spent(serving.ask("serve 100", timeout=120))
    profile = profile.with_frame("Serving.serve")
    assert set(profile.labels) >= {"/order", "/search", "/broken"}
    parts = profile.by("label")
    found = {name: part.weight / profile.weight for name, part in parts.items()}
    wanted = {name: number / sum(truth.values()) for name, number in truth.items()}
    # A request within another one belongs to the outer.
    assert "/inner" not in found
    for path in ("/order", "/search", "/broken"):
        assert found[path] == pytest.approx(wanted[path], abs=0.04), (found, wanted)
    unlabelled = 1 - sum(found[path] for path in ("/order", "/search", "/broken"))
    assert unlabelled == pytest.approx(wanted["none"], abs=0.04), (found, wanted)
    assert parts["/order"].share("Serving.burn") > 0.9
    assert parts["/broken"].share("Serving.handle") > 0.9


def test_names_that_no_request_has_are_reported(vm: jvmti.VM, serving: JavaProgram) -> None:
    by = "Serving.pass(request).nothing"  # of an interface, which says nothing of fields
    with vm.profile("cpu", by=by) as profile:
        serving.ask("serve 5", timeout=60)
    assert set(profile.labels) == {"?"}
    assert any(f"No request has a name: none had a value for by='{by}'" in note
               for note in profile.limits[0].notes)  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "interval", "how", "rounds"),
    [
        ("wall", 0.005, "sleep", 15),
        ("alloc", 8 * 1024, "allocate", 40),
        ("live", 8 * 1024, "allocate", 20),
        ("lock", None, "enter", 15),
        ("lock", None, "lock", 15),
    ],
)
def test_each_request_has_what_else_it_used(
    vm: jvmti.VM, serving: JavaProgram, kind: str, interval: float | None, how: str, rounds: int
) -> None:
    with vm.profile(kind, interval=interval, by=BY_PATH) as profile:
        truth = spent(serving.ask(f"{how} {rounds}", timeout=60))
        if kind == "live":
            vm.env.force_garbage_collection()
    profile = profile.with_frame("Serving.use")
    found = {name: part.weight / profile.weight for name, part in profile.by("label").items()}
    if kind == "live":  # what orders have allocated, those within them not
        truth = {name: number * (name == "/order") for name, number in truth.items()}
    wanted = {name: number / sum(truth.values()) for name, number in truth.items()}
    assert "/inner" not in found
    for path in ("/order", "/search", "/broken"):
        assert found.get(path, 0) == pytest.approx(wanted[path], abs=0.06), (found, wanted)
    assert found.get("", 0) == pytest.approx(wanted["none"], abs=0.06), (found, wanted)


def test_a_method_alone_names_its_requests(vm: jvmti.VM, serving: JavaProgram) -> None:
    with vm.profile("cpu", interval=0.005, by="Serving.handle") as profile:
        serving.ask("serve 20", timeout=60)
    assert profile.labels == ("Serving.handle",)
    part = profile.by("label")["Serving.handle"]
    assert part.share("Serving.handle") > 0.9


def test_a_request_that_has_not_ended_has_its_time(vm: jvmti.VM, serving: JavaProgram) -> None:
    with vm.profile("cpu", interval=0.005, by="Serving.hang(arg0).path") as profile:
        assert serving.ask("hang") == "hanging"
        time.sleep(0.5)
        part = profile.update().by("label")["/hanging"]
        assert part.share("Serving.hang") > 0.9
        serving.ask("on")
    assert profile.by("label")["/hanging"].weight >= part.weight > 0


def test_a_request_that_has_not_ended_has_the_time_of_those_within_it(
    vm: jvmti.VM, serving: JavaProgram
) -> None:
    with vm.profile("cpu", interval=0.005, by="Serving.han*(arg0).path") as profile:
        assert serving.ask("hang") == "hanging"
        time.sleep(0.5)
        running = set(profile.update().with_frame("Serving.hang").by("label"))
        serving.ask("on")
    assert running == {"/hanging"}
    assert set(profile.with_frame("Serving.hang").by("label")) == {"/hanging"}


def test_requests_that_began_before_the_profile_are_reported(
    vm: jvmti.VM, serving: JavaProgram
) -> None:
    assert serving.ask("hang") == "hanging"
    with vm.profile("cpu", interval=0.005, by="Serving.hang(arg0).path") as profile:
        time.sleep(1)
    assert profile.labels == ()
    # Its class has changed since it began.
    assert profile.with_frame("Serving.burn").share("Serving.hang") > 0.5
    (note,) = [one for one in profile.limits[0].notes if "began before the profile" in one]
    assert "% of the samples in requests are of some that began" in note
    serving.ask("on")
    with vm.profile("cpu", interval=0.005, by="Serving.hang(arg0).path") as profile:
        assert serving.ask("hang") == "hanging"
        time.sleep(0.2)
        serving.ask("on")
    assert not any("began" in one for one in profile.limits[0].notes)
    with vm.profile("cpu", interval=0.005, by="Serving.hang(arg0).path") as profile:
        serving.ask("serve 2", timeout=60)
    assert any("No request began: Serving.hang was not called" in one
               for one in profile.limits[0].notes)  # fmt: skip


def test_requests_that_follow_each_other_did_not_begin_before_the_profile(
    vm: jvmti.VM, serving: JavaProgram, monkeypatch: pytest.MonkeyPatch
) -> None:
    close = Requests.close

    def slowly(requests: Requests) -> None:
        close(requests)
        time.sleep(0.3)  # as with many classes, or on a busy machine

    monkeypatch.setattr(Requests, "close", slowly)
    assert serving.ask("hang") == "hanging"
    # A sample of wall-clock time is longer than a request, and what was before is of others.
    intervals = {"cpu": 0.005, "wall": 0.02}
    with vm.profile("cpu", "wall", interval=intervals, by=BY_PATH) as profile:
        time.sleep(0.7)
    serving.ask("on")
    assert profile["cpu"].by("label")["/within"].weight > 0
    # One is under way when the profile begins, and on a busy machine it may have a few samples.
    early = [note for one in profile.limits for note in one.notes if "began" in note]
    assert all(int(note.partition("%")[0]) <= 5 for note in early), early


def test_requests_of_which_records_were_dropped_have_no_samples(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Requests, "dropped", 2)
    requests = Requests.__new__(Requests)
    requests._lock = threading.Lock()
    # The end of one, and the beginning of another.
    thread = numpy.ones(1, numpy.int64)
    requests._entries = [(thread, 10 * thread, 0 * thread)]
    requests._calls = [(thread, 20 * thread, 30 * thread)]
    samples = Samples([time.time_ns()], [0], [0], [1])
    labelled, nameless = requests.labelled(samples, Threads([1], ["one"]))
    assert labelled.label.tolist() == [-1]
    assert nameless.tolist() == [True]


def test_requests_with_long_names_stay_apart(vm: jvmti.VM, serving: JavaProgram) -> None:
    with vm.profile("cpu", interval=0.005, by=BY_PATH) as profile:
        serving.ask("long 2", timeout=60)
    same = "/" + "x" * 300
    assert {f"{same}/a", f"{same}/b"} < set(profile.labels)
    (cut,) = {one for one in profile.labels if len(one) > 400}
    assert cut == "/" + "x" * (len(cut) - 2) + "…"
    assert any("Names of requests that end with …" in note for note in profile.limits[0].notes)
    with vm.profile("cpu", interval=0.005, by=BY_PATH) as profile:
        serving.ask("serve 1", timeout=60)
    assert not any("end with …" in note for note in profile.limits[0].notes)


def test_probes_of_requests_go_with_the_profile(vm: jvmti.VM, serving: JavaProgram) -> None:
    cls = vm.find_class("Serving")
    with vm.trace("Serving.burn"):
        pass  # the first change of a class may leave its constants in another order
    before = bytes(cls.class_file)
    with vm.profile("cpu", by=BY_PATH):
        assert bytes(cls.class_file) != before
    assert bytes(cls.class_file) == before


def test_probes_of_requests_take_a_limit_for_their_pauses(
    vm: jvmti.VM, serving: JavaProgram
) -> None:
    before = bytes(vm.find_class("Serving").class_file)
    with pytest.raises(jvmti.errors.PauseTooLong, match="the limit is 1e-06 s"):
        vm.profile("cpu", by=BY_PATH, max_pause=1e-6)
    with pytest.raises(ValueError, match=r"is for the probes of by="):
        vm.profile("cpu", max_pause=1.0)
    assert bytes(vm.find_class("Serving").class_file) == before
    with vm.profile("cpu", interval=0.005, by="Serving.handle", max_pause=1.0) as profile:
        serving.ask("serve 20", timeout=60)
    assert profile.labels == ("Serving.handle",)
    options = ("--duration", "1", "--max-pause")
    wrong = run("profile", serving.pid, *options, "1ms")
    assert wrong.returncode == 2
    assert "--max-pause is for the probes of --request" in wrong.stderr
    refused = run("profile", serving.pid, *options, "0.001ms", "--request", BY_PATH)
    assert refused.returncode == 1
    assert "would stop the program for about" in refused.stderr


@pytest.mark.parametrize(
    ("by", "error", "why"),
    [
        ("handle", BadProbe, "is not CLASS.METHOD"),
        ("Serving.handle(request", BadProbe, "is not CLASS.METHOD"),
        ("Serving.handle().path", BadProbe, "say whose field it is"),
        ("Serving.handle(took)", BadProbe, "has taken no time"),
        ("Servant.handle", LookupError, "no loaded class matches 'Servant'"),
        ("Serving.handel", LookupError, "no method 'handel' with code"),
        ("java.util.ArrayList.trimToSize(this).sise", BadProbe, "no field 'sise'.*size"),
        ("Serving.handle(nobody)", LookupError, "has no such value; arg0"),
    ],
)
def test_what_names_no_request_is_refused(
    vm: jvmti.VM, by: str, error: type[Exception], why: str
) -> None:
    before = bytes(vm.find_class("Serving").class_file)
    with pytest.raises(error, match=why):
        vm.profile("cpu", by=by)
    assert bytes(vm.find_class("Serving").class_file) == before
