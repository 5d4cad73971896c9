from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

import jvmti
from jvmti.stacks.tree import StackTree

if TYPE_CHECKING:
    from collections.abc import Iterator

    from programs import JavaProgram

pytestmark = pytest.mark.oldest_and_newest


@pytest.fixture(scope="module")
def vm(witness: JavaProgram) -> Iterator[jvmti.VM]:
    with jvmti.attach(witness.pid, timeout=30) as attached:
        yield attached


@pytest.fixture
def tree() -> StackTree:
    made = StackTree()
    made.add(["run", "serve", "read"], 6)
    made.add(["run", "serve", "parse"], 3)
    made.add(["run", "idle"])
    return made


def test_stacks_are_merged_from_their_outermost_frames(tree: StackTree) -> None:
    assert len(tree) == 10
    [run] = tree.root.children
    assert [(one.name, one.count, one.ends) for one in run.children] == [
        ("serve", 9, 0),
        ("idle", 1, 1),
    ]
    assert tree.top(2) == [("read", 6), ("parse", 3)]


def test_a_tree_is_indented_text_and_a_frame_with_one_below_is_no_level(tree: StackTree) -> None:
    tree.add(["run", "idle", "sleep", "nap"])
    lines = [re.sub(r"^ *[\d.]+% +\d+  ", "", line) for line in str(tree).splitlines()[1:]]
    assert lines == ["run", "  serve", "    read", "    parse", "  idle", "    sleep", "    · nap"]
    assert [line.split()[-1] for line in tree.lines(threshold=0.5)] == ["run", "serve", "read"]


def test_frames_below_one_are_merged_for_all_its_callers(tree: StackTree) -> None:
    tree.add(["main", "serve", "read", "serve"], 2)
    below = tree.under("serve")
    assert below.to_collapsed() == "serve;read 6\nserve;read;serve 2\nserve;parse 3\n"
    assert len(below) == 11
    assert len(tree.under("no such frame")) == 0


def test_collapsed_stacks_have_a_line_each_whatever_a_thread_is_called() -> None:
    tree = StackTree()
    tree.add(["a; b\nc 7", "Main.run"], 4)
    tree.add(["", "Main.run"])
    assert tree.to_collapsed() == "a, b c 7;Main.run 4\n?;Main.run 1\n"


def test_a_tree_is_what_the_stacks_of_java_are(vm: jvmti.VM, witness: JavaProgram) -> None:
    reported = re.findall(r"(Witness\.[\w$]+):\d+", witness.ask("stack blocked"))
    assert "Witness.block" in reported
    tree = vm.threads.stack_tree(by_thread=True).under("blocked")
    [line] = tree.to_collapsed().splitlines()
    thread, *frames = line.removesuffix(" 1").split(";")
    assert thread == "blocked"
    assert [frame for frame in reversed(frames) if frame.startswith("Witness.")] == reported
    with_lines = vm.threads.stack_tree(lines=True).under("Witness.block(*")
    assert re.fullmatch(r"Witness\.block\(Witness\.java:\d+\) 1\n", with_lines.to_collapsed())


def test_a_tree_of_a_state_has_the_threads_that_are_in_it(vm: jvmti.VM) -> None:
    blocked = vm.threads.stack_tree(state="BLOCKED", by_thread=True)
    assert [one.name for one in blocked.root.children] == ["blocked"]
    with pytest.raises(ValueError, match="did you mean 'RUNNABLE'"):
        vm.threads.stack_tree(state="runable")
    with pytest.raises(ValueError, match="RUNNABLE"):
        vm.threads.sample(0, state="x")


def test_sampling_sees_what_a_thread_does_and_none_of_the_agents(vm: jvmti.VM) -> None:
    reported: list[tuple[int, ...]] = []
    tree = vm.threads.sample(
        0.2, hz=100, by_thread=True, progress=lambda *numbers: reported.append(numbers)
    )
    assert tree.samples == len(reported) >= 1
    assert 0 < tree.longest_sample
    names = {one.name for one in tree.root.children}
    assert {"busy", "blocked", "sleeping"} <= names
    assert not [name for name in names if name.startswith("jvmti")]
    assert len(tree.under("busy")) == tree.samples
    assert len(tree.under("busy").under("Witness.*")) == tree.samples


def test_sampling_says_that_no_thread_was_chosen(
    vm: jvmti.VM, caplog: pytest.LogCaptureFixture
) -> None:
    tree = vm.threads.sample(0, names="blokced")
    why = "no thread's name matches 'blokced'; did you mean 'blocked'?"
    assert (len(tree), tree.unseen) == (0, why)
    assert str(tree) == repr(tree) == f"<StackTree of 0 stacks, one sample: {why}>"
    html = tree._repr_html_()
    assert html is not None
    assert "did you mean" in html
    [reported] = caplog.records
    assert reported.message == f"{why} (sampling goes on: threads may come)"
    caplog.clear()
    beginning = vm.threads.sample(0, names="blokc*")
    assert "did you mean 'block*'?" in beginning.unseen
    caplog.clear()
    chosen = vm.threads.sample(0, names="blocked", state="RUNNABLE")
    assert chosen.unseen == "none of 1 thread had a stack and was RUNNABLE"
    assert chosen.unseen in str(chosen)
    assert caplog.records == []
    seen = vm.threads.sample(0, names="blocked")
    assert repr(seen) == "<StackTree of 1 stack, one sample>"


def test_sampling_takes_the_threads_whose_names_fit(vm: jvmti.VM) -> None:
    tree = vm.threads.sample(0, names="block*", by_thread=True)
    assert [one.name for one in tree.root.children] == ["blocked"]
    assert (tree.samples, len(tree)) == (1, 1)


@pytest.mark.parametrize("wrong", [{"hz": 0}, {"hz": 1e9}, {"seconds": -1}, {"share": 0}])
def test_sampling_has_bounds(vm: jvmti.VM, wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="sampling takes"):
        vm.threads.sample(**wrong)  # type: ignore[arg-type]


def test_looks_become_rare_where_they_would_take_too_much(vm: jvmti.VM) -> None:
    # Each takes more than a hundred-thousandth of a hundredth of a second.
    tree = vm.threads.sample(0.05, hz=100, share=0.00001)
    assert tree.samples == 1


def test_sampling_takes_two_messages_a_look(vm: jvmti.VM) -> None:
    before = vm.stats.messages
    tree = vm.threads.sample(0.1, hz=100)
    # One for the count, three to learn of the threads, five for names at the end.
    assert vm.stats.messages - before <= 2 * tree.samples + 12
