"""Thread groups: the top ones, their details and their children."""

from __future__ import annotations

from typing import NamedTuple

from jvmti.env.structures import ThreadGroupInfo
from jvmti.interface.calling import Calling
from jvmti.interface.declaration import LIVE, function
from jvmti.refs import Thread, ThreadGroup


class ThreadGroupChildren(NamedTuple):
    """The direct contents of a thread group."""

    threads: list[Thread]
    groups: list[ThreadGroup]


class ThreadGroupFunctions(Calling):
    """The functions of the chapter "Thread Group"."""

    __slots__ = ()

    @function(13, phase=LIVE)
    def get_top_thread_groups(self) -> list[ThreadGroup]:
        """Return the thread groups that have no parent.

        Returns:
            The groups; on HotSpot one, named ``system``.

        Example:
            >>> [group.name for group in env.get_top_thread_groups()]
            ['system']

        JVM TI: GetTopThreadGroups.
        """

    @function(14, phase=LIVE)
    def get_thread_group_info(self, group: ThreadGroup) -> ThreadGroupInfo:
        """Return a thread group's name, parent and highest priority.

        Args:
            group: the group.

        Returns:
            The details; the parent is ``None`` for a top group.

        Raises:
            InvalidThreadGroup: it is not a thread group.

        Example:
            >>> info = env.get_thread_group_info(env.get_thread_info(customer).thread_group)
            >>> info.name, info.max_priority
            ('main', 10)

        JVM TI: GetThreadGroupInfo.
        """

    @function(15, phase=LIVE, runs_java=True)
    def get_thread_group_children(self, group: ThreadGroup) -> ThreadGroupChildren:
        """Return the live platform threads and the active groups directly in a group.

        Args:
            group: the group.

        Returns:
            The threads and the groups; nothing from deeper down.

        Raises:
            InvalidThreadGroup: it is not a thread group.

        Example:
            >>> [system] = env.get_top_thread_groups()
            >>> "main" in [group.name for group in env.get_thread_group_children(system).groups]
            True

        JVM TI: GetThreadGroupChildren.
        """
