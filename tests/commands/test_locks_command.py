"""`jvmti locks`, `threads` and `info`, next to a program that knows who waits for what."""

from __future__ import annotations

import re
import signal
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

import jvmti
from command_line import as_json, done
from jvmti.commands.locks import _print as print_locks
from jvmti.events.streams.waits import Waits
from jvmti.model.threads.contention import LockUse, LockWatch

if TYPE_CHECKING:
    from programs import JavaProgram, JavaPrograms

pytestmark = pytest.mark.oldest_and_newest


@pytest.fixture(scope="module")
def contended(shared_java_program: JavaPrograms) -> JavaProgram:
    flags = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx64m"]
    program = shared_java_program("Contended", jvm_args=flags)
    program.expect("ready")
    program.send("1000000")
    return program


def of_class(found: Any, name: str) -> Any:
    [lock] = [lock for lock in found["locks"] if lock["class"] == name]
    return lock


def test_locks_says_who_waits_for_what_how_long_where_and_who_holds_it(
    contended: JavaProgram,
) -> None:
    found = as_json("locks", contended.pid, "--duration", 3)
    assert found["seconds"] >= 3
    cart = of_class(found, "Contended$Cart")
    assert (cart["kind"], cart["exact"]) == ("monitor", True)
    assert cart["waits"] >= 2
    # The holder stays for 30 ms after the waiter has come.
    assert cart["max_seconds"] >= cart["mean_seconds"] >= 0.025
    assert cart["total_seconds"] == pytest.approx(cart["waits"] * cart["mean_seconds"], rel=0.01)
    assert {one["place"].partition(":")[0] for one in cart["places"]} == {"Contended.enter"}
    # What never ends had begun before anybody looked.
    vault = of_class(found, "Contended$Vault")
    [stuck] = vault["waiting"]
    assert (stuck["thread"], stuck["at_least"]) == ("stuck", True)
    assert stuck["place"].startswith("Contended.stick:")
    assert stuck["seconds"] >= 2
    [keeper] = vault["owners"]
    assert keeper["thread"] == "keeper"
    assert keeper["place"].startswith("Contended.keep:")
    assert keeper["samples"] == found["samples"]
    assert found["deadlocks"] == []


def test_locks_of_the_concurrent_package_are_seen_with_their_owner(contended: JavaProgram) -> None:
    for _ in range(15):
        found = as_json("locks", contended.pid, "--duration", 1, "--interval", "0.02")
        names = {lock["class"] for lock in found["locks"]}
        if "java.util.concurrent.locks.ReentrantLock$NonfairSync" in names:
            break
    ledger = of_class(found, "java.util.concurrent.locks.ReentrantLock$NonfairSync")
    assert (ledger["kind"], ledger["exact"]) == ("synchronizer", False)
    assert {one["place"].partition(":")[0] for one in ledger["places"]} == {"Contended.book"}
    assert {one["thread"] for one in ledger["owners"]} == {"holder"}
    assert {one["place"].partition(":")[0] for one in ledger["owners"]} == {"Contended.hold"}


def test_a_lock_has_the_same_name_in_locks_and_events(contended: JavaProgram) -> None:
    cart = of_class(as_json("locks", contended.pid, "--duration", 1), "Contended$Cart")
    words = ["events", contended.pid, "MonitorContendedEntered", "--filter", "class=*Cart"]
    shown = done(*words, "--count", 1)
    assert f"object=Contended$Cart@{cart['id']} " in shown


def test_a_lock_that_many_wait_for_is_one_lock_from_the_first_sample_on(
    java_program: JavaPrograms,
) -> None:
    program = java_program("Queued")
    program.expect("ready")
    with jvmti.attach(program.pid) as vm:
        for _ in range(6):
            # The waits of the first sample began before the VM reported any, so only the lock's
            # address is known then.
            found = LockWatch(vm).watch(0.8, interval=0.02)
            [till] = [use for use in found if use.class_name == "Queued$Till"]
            assert not till.key.startswith("0x")
            assert {owner for owner, _ in till.owners} <= {f"customer-{n}" for n in range(6)}
            assert till.total > 2 * till.longest > 0


def test_locks_at_this_moment_and_in_words(contended: JavaProgram) -> None:
    vault = of_class(as_json("locks", contended.pid, "--once"), "Contended$Vault")
    assert [one["thread"] for one in vault["waiting"]] == ["stuck"]
    assert [one["thread"] for one in vault["owners"]] == ["keeper"]
    text = done("locks", contended.pid, "--duration", 1)
    assert re.search(
        r"^Contended\$Vault@\w+  \(monitor\)\n"
        r"    waited for once, .* in all\n"
        r"    in Contended\.stick:\d+ .*\n"
        r'    held by "keeper" in Contended\.keep:\d+.*\n'
        r'    "stuck" still waits for .* or longer in Contended\.stick:\d+$',
        text,
        re.M,
    )


def test_an_interrupted_watch_shows_what_it_has(
    contended: JavaProgram, monkeypatch: pytest.MonkeyPatch
) -> None:
    sample = LockWatch._sample

    def interrupted(watch: LockWatch, stream: Any, *, first: bool) -> None:
        sample(watch, stream, first=first)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(LockWatch, "_sample", interrupted)
    found = as_json("locks", contended.pid, "--duration", 500, "--interval", 400)
    assert (found["samples"], found["seconds"] < 400) == (1, True)
    assert of_class(found, "Contended$Vault")["waits"] == 1


def test_a_lock_without_a_known_holder_says_how_often_it_looked(
    capsys: pytest.CaptureFixture[str],
) -> None:
    process = SimpleNamespace(pid=7, main="App", java_version="17")
    use = LockUse("monitor", "Cart", "1f", waits=1, total=0.02)
    for samples, text in ((1, "the one sample"), (30, "any of 30 samples")):
        watch = SimpleNamespace(
            seconds=3.0, samples=samples, source="jvmti", reason="", deadlocks=[], threads=[]
        )
        print_locks(SimpleNamespace(process=process), watch, [use], 5)
        assert f"not held in {text}; sample more often with --interval\n" in capsys.readouterr().out


def test_of_waits_that_last_the_longest_comes_first() -> None:
    waits = Waits()
    for number, began in enumerate((30, 10, 20)):
        waits.waiting[number] = SimpleNamespace(rows=lambda began=began: [{"time": began}])
    assert [row["duration"] for row in waits.rows(100)] == [90, 80, 70]


def test_threads_are_chosen_by_name_and_state(contended: JavaProgram) -> None:
    def names(*words: str) -> set[str]:
        return {one["name"] for one in as_json("threads", contended.pid, *words)["threads"]}

    assert names("--name", "keep*", "--name", "tuc") == {"keeper", "stuck"}
    assert "stuck" in names("--state", "blocked")
    assert "keeper" not in names("--state", "BLOCKED")
    assert names("--name", "keeper", "--state", "blocked") == set()
    text = done("threads", contended.pid, "--name", "stuck")
    assert re.search(r": 1 of \d+ threads, ", text)
    # Who holds it is named, though it is not among the chosen.
    assert 'held by "keeper"' in text


def test_equal_stacks_are_shown_once(java_program: JavaPrograms) -> None:
    program = java_program("Parked")
    program.expect("ready")
    found = as_json("threads", program.pid, "--group")
    assert sum(group["count"] for group in found["groups"]) == len(found["threads"])
    keys = [(group["state"], *group["stack"]) for group in found["groups"]]
    assert len(keys) == len(set(keys))
    counts = [group["count"] for group in found["groups"]]
    assert counts == sorted(counts, reverse=True)
    text = done("threads", program.pid, "--group")
    assert re.search(rf": {len(found['threads'])} threads at {len(keys)} stacks, ", text)


def test_info_says_what_the_jvm_uses(contended: JavaProgram) -> None:
    usage = as_json("info", contended.pid)["usage"]
    assert 0 < usage["heap"]["used"] <= usage["heap"]["committed"] <= usage["heap"]["maximum"]
    assert usage["heap"]["maximum"] <= 64 << 20
    assert usage["resident"] > 10 << 20
    assert usage["metaspace"] > 100_000
    assert 0 < usage["code_cache"]["used"] < usage["code_cache"]["size"]
    assert len(usage["collections"]) == 2
    kinds = usage["threads_by_kind"]
    assert kinds["compiler"]["threads"] >= 1
    assert kinds["VM"]["threads"] >= 2
    assert sum(one["processors"] for one in kinds.values()) == pytest.approx(
        usage["processors_used"], abs=0.01
    )
    text = done("info", contended.pid)
    for name in ("uses", "memory", "heap", "metaspace", "code cache", "collections"):
        assert re.search(rf"^{name}: +\S", text, re.M), name
