"""Class loaders that something holds although the VM would unload them, and their age.

A redeployed application gets a new class loader with classes of the same names. If anything still
holds the old loader, all its classes and what their static fields hold stay.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, NamedTuple

import numpy

from jvmti.heap.analyses.owners import owner_of
from jvmti.heap.objects import Object
from jvmti.text.names import place_in_words

if TYPE_CHECKING:
    from jvmti.heap.snapshot import Loader, Snapshot

__all__ = ["LoaderSuspect", "class_loader_leaks", "deployments"]

_OVERLAP = 0.5
"""The part of its classes that a loader has in common with its predecessor or successor."""
_STOPPED = frozenset(("STOPPING", "STOPPED", "DESTROYING", "DESTROYED", "FAILED"))


class LoaderSuspect(NamedTuple):
    """A class loader that may have leaked.

    Attributes:
        loader: the loader.
        retained: bytes that it, its classes and their objects retain.
        instances: objects of its classes.
        twins: other loaders that defined classes of the same names.
        path: a path to it from a root.
        place: its rank among the loaders of its application: 1 is the oldest.
        deployments: how many loaders its application has.
        stopped: the reason why it is out of use: ``"closed"``, ``"STOPPED"``; ``None`` if unknown.
        owner: the field that holds it: ``"static com.acme.Registry.hooks"``.
    """

    loader: Loader
    retained: int
    instances: int
    twins: int
    path: list[tuple[str, Object]]
    place: int = 1
    deployments: int = 1
    stopped: str | None = None
    owner: str = ""

    @property
    def is_replaced(self) -> bool:
        """Whether its classes were loaded again since, or it was stopped."""
        return self.place < self.deployments or self.stopped is not None

    @property
    def age(self) -> str:
        """Its place in words: ``oldest of 3``, ``newest of 3``; empty for one without twins."""
        return place_in_words(self.place, self.deployments)


def deployments(snapshot: Snapshot) -> list[list[Loader]]:
    """The loaders of each application that was loaded several times, the oldest first.

    Loaders belong to one application if they have the same class and at least half of the classes
    of one have the names of classes of the next.  The VM numbers the classes of the newest loader
    first, in dumps as in its own lists.
    """
    loaders = [one for one in snapshot.loaders if one.object is not None and not one.is_held_by_vm]
    loaders.sort(key=_age)
    names = [{cls.name for cls in one.classes if not cls.is_array} for one in loaders]
    by_name: dict[tuple[str, str], list[int]] = {}
    for at, loader in enumerate(loaders):
        assert loader.object is not None
        for name in names[at]:
            by_name.setdefault((loader.object.cls.name, name), []).append(at)
    # Only neighbours of each name, so that a thousand loaders do not make a million pairs.
    shared: dict[tuple[int, int], int] = {}
    for found in by_name.values():
        for pair in itertools.pairwise(found):
            shared[pair] = shared.get(pair, 0) + 1
    group = list(range(len(loaders)))

    def of(at: int) -> int:
        while group[at] != at:
            at = group[at] = group[group[at]]
        return at

    for (older, newer), count in shared.items():
        if count >= _OVERLAP * min(len(names[older]), len(names[newer])):
            group[of(newer)] = of(older)
    applications: dict[int, list[Loader]] = {}
    for at, loader in enumerate(loaders):
        applications.setdefault(of(at), []).append(loader)
    return [one for one in applications.values() if len(one) > 1]


def class_loader_leaks(snapshot: Snapshot) -> list[LoaderSuspect]:
    """Loaders that the VM would unload if nothing held them, those with twins first.

    Redeploying leaves several loaders with classes of the same names; `Snapshot.leaks` has only
    those that are out of use.
    """
    loaders = [one for one in snapshot.loaders if one.object is not None and not one.is_held_by_vm]
    if snapshot.unreachable == "drop":
        loaders = [one for one in loaders if one.object and snapshot.reachable[one.object.index]]
    owners: dict[str, set[int]] = {}
    for at, loader in enumerate(loaders):
        for cls in loader.classes:
            owners.setdefault(cls.name, set()).add(at)
    places: dict[int, tuple[int, int]] = {}
    for application in deployments(snapshot):
        there = [one for one in application if one in loaders]
        for place, one in enumerate(there, 1):
            assert one.object is not None
            places[one.object.index] = place, len(there)
    counts, _ = snapshot._dump.histogram(snapshot._selected)
    ways = snapshot.paths_to_roots(
        snapshot.column(one.object for one in loaders if one.object is not None)
    )
    retained = _retained(snapshot, loaders)
    found = []
    for at, loader in enumerate(loaders):
        assert loader.object is not None
        path = ways.path(loader.object)
        twins = set().union(*(owners[cls.name] for cls in loader.classes)) - {at}
        found.append(
            LoaderSuspect(
                loader,
                retained[at],
                int(sum(counts[cls.index] for cls in loader.classes)),
                len(twins),
                path,
                *places.get(loader.object.index, (1, 1)),
                _stopped(loader.object),
                owner_of(snapshot, path)[0],
            )
        )
    return sorted(found, key=lambda one: (one.twins, one.retained), reverse=True)


def _retained(snapshot: Snapshot, loaders: list[Loader]) -> list[int]:
    """The bytes that each retains with its classes and their objects, none counted twice."""
    tree = snapshot.dominators()
    groups = numpy.full(len(snapshot.classes), len(loaders), numpy.uint32)
    for at, loader in enumerate(loaders):
        groups[[cls.index for cls in loader.classes]] = at
    by_group = tree.retained_by_group(groups, len(loaders)).tolist()
    own = [0 if one.object is None else one.object.retained for one in loaders]
    return [max(pair) for pair in zip(by_group, own, strict=True)]


def _age(loader: Loader) -> int:
    """Older loaders have greater numbers in the file, so smaller ones here."""
    return -min(int(cls._record["serial"]) for cls in loader.classes)


def _stopped(loader: Object) -> str | None:
    """The loader's own state: closed, or the state of its web application."""
    state = loader["state"] if loader.cls.field("state") is not None else None
    if isinstance(state, Object) and state.cls.field("name") is not None:
        name = getattr(state["name"], "text", None)
        if name in _STOPPED:
            return str(name)
    path = loader["ucp"] if loader.cls.field("ucp") is not None else None
    if isinstance(path, Object) and path.cls.field("closed") is not None and path["closed"]:
        return "closed"
    return None
