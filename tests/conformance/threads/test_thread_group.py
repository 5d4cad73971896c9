"""The chapter "Thread Group": groups as Java knows them."""

from __future__ import annotations

import jvmti
import programs
from conformance.evidence import Evidence
from conformance.finding import thread_named
from jvmti.refs import ThreadGroup


def test_there_is_one_top_group_and_it_is_system(env: jvmti.Env, evidence: Evidence) -> None:
    evidence.proves("get_top_thread_groups", "get_thread_group_info")
    (top,) = env.get_top_thread_groups()
    info = env.get_thread_group_info(top)
    assert (info.name, info.parent) == ("system", None)
    assert (info.max_priority, info.is_daemon) == (10, False)


def test_the_group_of_a_thread_is_the_one_that_java_names(
    env: jvmti.Env, witness: programs.JavaProgram, evidence: Evidence
) -> None:
    evidence.proves("get_thread_group_info")
    for name in ("main", "sleeping", "deep"):
        group = env.get_thread_info(thread_named(env, name)).thread_group
        assert group is not None
        assert env.get_thread_group_info(group).name == witness.ask(f"group {name}")


def test_the_parents_lead_to_the_top(env: jvmti.Env, evidence: Evidence) -> None:
    evidence.proves("get_thread_group_info")
    group = env.get_thread_info(thread_named(env, "deep")).thread_group
    names = []
    while group is not None:
        info = env.get_thread_group_info(group)
        names.append(info.name)
        group = info.parent
    assert names == ["witness-deep", "main", "system"]


def test_children_are_the_threads_and_groups_directly_inside(
    env: jvmti.Env, witness: programs.JavaProgram, evidence: Evidence
) -> None:
    evidence.proves("get_thread_group_children")
    group = env.get_thread_info(thread_named(env, "main")).thread_group
    assert group is not None
    children = env.get_thread_group_children(group)
    names = {env.get_thread_group_info(one).name for one in children.groups}
    assert {"witness-deep", "witness-sleeping", "witness-holder"} <= names
    assert thread_named(env, "main") in children.threads

    inside = next(
        one for one in children.groups if env.get_thread_group_info(one).name == "witness-deep"
    )
    assert env.get_thread_group_children(inside) == ([thread_named(env, "deep")], [])


def test_every_thread_that_java_lists_is_in_the_tree_of_groups(
    env: jvmti.Env, witness: programs.JavaProgram, evidence: Evidence
) -> None:
    evidence.proves("get_thread_group_children", "get_top_thread_groups")

    def threads_in(group: ThreadGroup) -> set[str]:
        children = env.get_thread_group_children(group)
        names = {env.get_thread_info(thread).name for thread in children.threads}
        return names.union(*map(threads_in, children.groups))

    found = set().union(*map(threads_in, env.get_top_thread_groups()))
    assert {name.replace("\\u0020", " ") for name in witness.ask("threads").split()} <= found
