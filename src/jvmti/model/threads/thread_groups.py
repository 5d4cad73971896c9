"""Thread groups."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from jvmti import refs
from jvmti.interface.errors import Error
from jvmti.model.objects.java_object import Attributes
from jvmti.text.names import suggestion
from jvmti.text.printable import escaped, escaped_lines

if TYPE_CHECKING:
    from jvmti.model.threads.java_thread import Thread
    from jvmti.model.vm import VM


class ThreadGroup(Attributes, refs.ThreadGroup):
    """A ``java.lang.ThreadGroup``; ``str()`` shows the tree of its groups and threads."""

    __slots__ = ()

    @property
    def name(self) -> str | None:
        """Its name."""
        return self._vm.env.get_thread_group_info(self).name

    @property
    def parent(self) -> ThreadGroup | None:
        """The group around it; ``None`` for the topmost."""
        return self._vm.env.get_thread_group_info(self).parent  # type: ignore[return-value]

    @property
    def is_daemon(self) -> bool:
        """Whether it is a daemon group, which has no meaning from Java 19 on."""
        return self._vm.env.get_thread_group_info(self).is_daemon

    @property
    def max_priority(self) -> int:
        """The highest priority that its threads can be given."""
        return self._vm.env.get_thread_group_info(self).max_priority

    @property
    def threads(self) -> list[Thread]:
        """The group's live threads, without those of its subgroups."""
        return self._vm.env.get_thread_group_children(self).threads  # type: ignore[return-value]

    @property
    def groups(self) -> ThreadGroups:
        """The subgroups, by number or by name."""
        found: Any = self._vm.env.get_thread_group_children(self).groups
        return ThreadGroups(self._vm, found)

    def __getitem__(self, name: str) -> Thread | ThreadGroup:
        """The subgroup or thread of that name.

        Raises:
            KeyError: there is none; the message suggests similar ones.
        """
        children: Any = self._vm.env.get_thread_group_children(self)
        named: dict[str, Any] = {}
        for child in [*children.threads, *children.groups]:
            named[child.name or ""] = child
        if name in named:
            return named[name]  # type: ignore[no-any-return]
        raise KeyError(_missing(name, f"nothing in group {self.name!r}", list(named)))

    @escaped
    def __repr__(self) -> str:
        try:
            return f"<ThreadGroup {self.name!r}>"
        except (Error, AttributeError, RuntimeError):
            return super().__repr__()

    @escaped_lines
    def __str__(self) -> str:
        try:
            return "\n".join(_tree(self, ""))
        except (Error, AttributeError, RuntimeError) as error:
            return f"{super().__repr__()}: {error}"


def _tree(group: ThreadGroup, indent: str) -> Iterator[str]:
    yield f"{indent}{group.name}, priority at most {group.max_priority}"
    children: Any = group._vm.env.get_thread_group_children(group)
    for thread in children.threads:
        yield f"{indent}    {thread.name} ({thread.java_state})"
    for inner in children.groups:
        yield from _tree(inner, indent + "    ")


class ThreadGroups(Sequence[Any]):
    """Thread groups, by number or by name; a name is looked for in groups within, too."""

    def __init__(self, vm: VM, groups: list[ThreadGroup]) -> None:
        self._vm = vm
        self._groups = groups

    def __len__(self) -> int:
        return len(self._groups)

    def __iter__(self) -> Iterator[ThreadGroup]:
        return iter(self._groups)

    def __contains__(self, item: object) -> bool:
        if isinstance(item, str):
            return any(group.name == item for group in self._all())
        return item in self._groups

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, str):
            return self._groups[key]
        names = []
        for group in self._all():
            if group.name == key:
                return group
            names.append(group.name or "")
        raise KeyError(_missing(key, "no thread group", names))

    def _all(self) -> Iterator[ThreadGroup]:
        waiting = list(self._groups)
        while waiting:
            group = waiting.pop(0)
            yield group
            waiting += list(group.groups)

    @escaped
    def __repr__(self) -> str:
        return f"<ThreadGroups {', '.join(repr(group.name) for group in self._groups)}>"

    @escaped_lines
    def __str__(self) -> str:
        return "\n".join(str(group) for group in self._groups)


def _missing(name: str, what: str, names: list[str]) -> str:
    return f"{what} is named {name!r}{suggestion(name, names)}"


__all__ = ["ThreadGroup", "ThreadGroups"]
