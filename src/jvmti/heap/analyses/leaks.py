"""Leak suspects, named by the accumulating class and by its owner.

A suspect begins at an object that retains far more than any single object below it, or at many
objects of one class that only roots or many referrers lead to. From there downwards, past the JDK's
collections and arrays, the first class of the program is what accumulates. Upwards, towards the
root, the first class of the program is the owner, with the field that it holds it by. Eclipse MAT
also uses accumulation points and paths to them; it names the array of a map, this names both ends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy

from jvmti import display
from jvmti.heap.analyses.deployments import LoaderSuspect, class_loader_leaks
from jvmti.heap.analyses.owners import LINK, OF_THE_PLATFORM, is_container, is_of_program, owner_of
from jvmti.heap.html.elements import in_bytes
from jvmti.heap.library import EXTENT_CLASS, Indices
from jvmti.heap.objects import Object, Objects
from jvmti.text.printable import escaped, printable_lines
from jvmti.text.quantities import quantity

if TYPE_CHECKING:
    from jvmti.heap.dominators import DominatorTree
    from jvmti.heap.snapshot import Snapshot

__all__ = ["Leaks", "Suspect", "find_leaks", "leak_suspects"]

_THRESHOLD = 0.05
_LEVELS = 40
_MOST_OWNERS = 200
_MOST_POINTS = 1000
_MANY = 100
"""The fewest objects of a class that accumulate; fewer may be their referrers."""
_OTHERS = 0.05
"""The least fraction of the first owner's bytes that another one must hold to be mentioned."""
_PLATFORM_THRESHOLD = 1 << 20
"""The least bytes of a suspect in the JDK's own classes, and the least part."""
_PROGRAM_SHARE = 0.25
"""The least part of the bytes that a class of the program must have to be what accumulates."""
_FEW_SHARE = 0.5
"""The least part of the bytes that few objects must have; otherwise it is a large object of many
parts."""


class Suspect(NamedTuple):
    """Objects that may accumulate.

    Attributes:
        object: the accumulation point, or one of several.
        retained: bytes that it retains.
        part: of the whole heap, from 0 to 1.
        children_class: the class of what accumulates; empty for a large object of many parts.
        children: how many of that class there are.
        path: a path to the object from a root, each reference and its object.
        owner: the field that holds it: ``"static com.acme.CartStore.abandoned"``.
        places: the number of such objects.
        loaders: the class loaders of the owner's class, if several have one of that name.
    """

    object: Object
    retained: int
    part: float
    children_class: str
    children: int
    path: list[tuple[str, Object]]
    owner: str = ""
    places: int = 1
    loaders: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The suspect in a line: count, class, size and owner."""
        what = f"{self.children:,} {self.children_class}" if self.children else repr(self.object)
        return f"{what} ({in_bytes(self.retained)}, {self.part:.0%}) in {self.where}"

    @property
    def where(self) -> str:
        """The owner, the number of places, and the class loaders of its class if there are
        several."""
        if len(self.loaders) > 1:
            return f"{self.owner} of {quantity(len(self.loaders), 'class loader')}"
        places = f", {quantity(self.places, 'place')}" if self.places > 1 else ""
        return f"{self.owner}{places}{''.join(f' of {one}' for one in self.loaders)}"

    def _repr_html_(self) -> str | None:
        return display.html(self)

    @escaped
    def __repr__(self) -> str:
        return f"<Suspect {self.text}>"


class Leaks(NamedTuple):
    """The leak suspects of a snapshot; printed, it is the output of ``jvmti heap leaks``.

    Attributes:
        suspects: what accumulates, the largest first.
        loaders: leaked class loaders, grouped by application.
        smaller_loaders: leaked loaders that hold too little.
        threshold: the least part of the heap that a suspect holds.
    """

    suspects: list[Suspect]
    loaders: list[LoaderSuspect]
    smaller_loaders: list[LoaderSuspect]
    threshold: float

    def lines(self) -> list[str]:
        """All of it as text."""
        found: list[str] = []
        for suspect in self.suspects:
            found += [suspect.text, *_path_lines(suspect.path), ""]
        together: dict[tuple[str, int, str], list[LoaderSuspect]] = {}
        for loader in self.loaders:
            key = (*_application(loader), loader.owner)
            together.setdefault(key, []).append(loader)
        for (cls, _, owner), loaders in together.items():
            held = in_bytes(sum(one.retained for one in loaders))
            found.append(f"{_counted(len(loaders), f'{cls} out of use', '')} ({held}) in {owner}")
            for loader in loaders:
                why = ", ".join(filter(None, (loader.age, loader.stopped)))
                found.append(
                    f"  {loader.loader.name}: {why}; {in_bytes(loader.retained)}, "
                    f"{_counted(len(loader.loader.classes), 'class', 'es')}, "
                    f"{_counted(loader.instances, 'object')} of them"
                )
            found += [*_path_lines(loaders[0].path), ""]
        if not found:
            found = [f"no class that accumulates holds {self.threshold:.0%} of the heap", ""]
        if self.smaller_loaders:
            count = len(self.smaller_loaders)
            held = in_bytes(sum(one.retained for one in self.smaller_loaders))
            found.append(
                f"{_counted(count, 'class loader')} out of use besides, with {held} together "
                "(--threshold 0 lists all)"
            )
        return found if found[-1] else found[:-1]

    def __repr__(self) -> str:
        return printable_lines("\n".join(self.lines()))


def find_leaks(snapshot: Snapshot, *, threshold: float = _THRESHOLD, limit: int = 20) -> Leaks:
    """See `Snapshot.leaks`."""
    out_of_use = [one for one in class_loader_leaks(snapshot) if one.is_replaced]
    sums: dict[tuple[str, int], int] = {}
    for one in out_of_use:
        sums[_application(one)] = sums.get(_application(one), 0) + one.retained
    enough = threshold * snapshot.dominators().total
    listed = [one for one in out_of_use if sums[_application(one)] >= enough]
    return Leaks(
        leak_suspects(snapshot, threshold=threshold, limit=limit),
        listed,
        [one for one in out_of_use if one not in listed],
        threshold,
    )


def _counted(number: int, what: str, plural: str = "s") -> str:
    return f"{number:,} {what}{plural if number != 1 else ''}"


def _application(one: LoaderSuspect) -> tuple[str, int]:
    assert one.loader.object is not None
    return one.loader.object.cls.name, one.deployments


def leak_suspects(
    snapshot: Snapshot, *, threshold: float = _THRESHOLD, limit: int = 20
) -> list[Suspect]:
    """The suspects, the largest first; the module's docstring explains how they are found.

    Args:
        snapshot: where to look.
        threshold: the least part of the heap that a suspect holds.
        limit: the most results.
    """
    return _Search(snapshot, threshold).found(limit)


class _Point(NamedTuple):
    """A candidate: one object, or many of one class."""

    members: Indices
    retained: int


class _Search:
    def __init__(self, snapshot: Snapshot, threshold: float) -> None:
        self._snapshot = snapshot
        self._tree: DominatorTree = snapshot.dominators()
        self._threshold = max(1, int(threshold * self._tree.total))
        self._platform = _PLATFORM_THRESHOLD * min(1.0, threshold / _THRESHOLD)
        self._of_program = numpy.array([is_of_program(cls) for cls in snapshot.classes], bool)
        names = snapshot.classes.names
        # Twins of several loaders count as one: the first of that name.
        first: dict[str, int] = {}
        self._named = numpy.array([first.setdefault(one, at) for at, one in enumerate(names)])
        self._passed = numpy.array([is_container(name) for name in names], bool)
        self._apart: Indices = numpy.empty(0, numpy.uint32)

    def found(self, limit: int) -> list[Suspect]:
        """The suspects."""
        points = self._accumulation_points()
        points += self._crowds(points)
        merged: dict[tuple[str, str], Suspect] = {}
        for point in points:
            suspect = self._suspect(point)
            if suspect.retained < self._platform and self._is_of_platform(suspect):
                continue
            key = (suspect.owner, suspect.children_class)
            known = merged.get(key)
            if known is not None:
                suspect = known._replace(
                    retained=known.retained + suspect.retained,
                    part=known.part + suspect.part,
                    children=known.children + suspect.children,
                    places=known.places + suspect.places,
                    loaders=tuple(dict.fromkeys((*known.loaders, *suspect.loaders))),
                )
            merged[key] = suspect
        ordered = sorted(merged.values(), key=lambda one: one.retained, reverse=True)
        rows: list[Suspect] = display.Rows(ordered[:limit])
        return rows

    def _is_of_platform(self, suspect: Suspect) -> bool:
        """Whether it is a table of every JDK, which is noticeable in a small heap.

        JNI globals hold those that the VM has read from its archive of classes.
        """
        if suspect.owner.startswith("a JNI global"):
            content = suspect.children_class or suspect.object.cls.name
            return OF_THE_PLATFORM.match(content) is not None
        owner = suspect.owner.removeprefix("static ").removeprefix("class ")
        return OF_THE_PLATFORM.match(owner) is not None

    def _accumulation_points(self) -> list[_Point]:
        """Accumulation points, without those that only hold others."""
        points = self._tree.accumulation_points(self._threshold, limit=_MOST_POINTS)
        left = {point.object.index: point.retained for point in points}
        for point in points:
            for above in self._dominators(point.object.index)[1:]:
                if above in left:
                    left[above] -= point.retained
                    break
        large = [
            _Point(numpy.array([at], numpy.uint32), held)
            for at, held in left.items()
            if held >= self._threshold
        ]
        found = [point for point in large if not self._is_of_classes(point)]
        # Do not count it again above.
        self._apart = numpy.array([int(point.members[0]) for point in found], numpy.uint32)
        return found

    def _is_of_classes(self, point: _Point) -> bool:
        """Whether static fields of classes hold most of what it retains.

        That holds for a class loader's list of its classes. Classes exist once each and do not
        accumulate; accumulations below one of them are found there.
        """
        dump, tree = self._snapshot._dump, self._tree
        held, level = 0, tree.children_of_all(point.members)
        for _ in range(_LEVELS):
            is_class = (dump.extent[level] & EXTENT_CLASS) != 0
            held += int(tree.retained[level[is_class]].sum())
            level = level[~is_class]
            level = level[self._passed[dump.class_of[level]]]
            if not len(level):
                break
            level = tree.children_of_all(level)
        return 2 * held >= point.retained

    def _crowds(self, points: list[_Point]) -> list[_Point]:
        """Objects of one class that no single object holds, but that are large together."""
        tree, dump = self._tree, self._snapshot._dump
        top = tree.children().indices
        top = top[(dump.extent[top] & EXTENT_CLASS) == 0]
        taken = {
            int(index) for point in points for index in self._dominators(int(point.members[0]))
        }
        if taken:
            top = top[~numpy.isin(top, numpy.fromiter(taken, numpy.uint32, len(taken)))]
        if not len(top):
            return []
        classes = dump.class_of[top]
        sums = numpy.zeros(len(dump.classes), numpy.uint64)
        numpy.add.at(sums, classes, tree.retained[top])
        found = []
        for index in numpy.flatnonzero(sums >= self._threshold).tolist():
            members = top[classes == index]
            if len(members) > 1:
                found.append(_Point(members, int(sums[index])))
        return found

    def _dominators(self, at: int) -> list[int]:
        """An object and its dominators."""
        found = []
        while at < len(self._tree.idom):
            found.append(at)
            at = int(self._tree.idom[at])
        return found

    # What accumulates

    def _contents(self, point: _Point) -> tuple[str, int]:
        """The class of what accumulates below some objects, and how many there are.

        Empty for a large object of many parts.

        If these are few objects of the program, such as nodes of its own tree or entries of a
        collection outside the JDK, it is the class that they hold.
        """
        best, members = self._level(point.members, single=len(point.members) == 1)
        if best is None or self._is_part_of(point, members):
            return "", 0
        for _ in range(_LEVELS):
            is_link = LINK.match(self._snapshot.classes.names[best]) is not None
            if (len(members) >= _MANY and not is_link) or not self._of_program[best]:
                break
            further, below = self._level(members, single=True)
            held = int(self._tree.retained[members].sum())
            if (
                further is None
                or not self._of_program[further]
                or len(below) * 5 < len(members) * (4 if is_link else 5)
                or (not is_link and len(below) == len(members))
                or 2 * int(self._tree.retained[below].sum()) < held
            ):
                break
            best, members = further, below
        return self._snapshot.classes.names[best], len(members)

    def _is_part_of(self, point: _Point, members: Indices) -> bool:
        """Whether these are too few and too small to name the suspect after them."""
        held = int(self._tree.retained[members].sum())
        return len(members) < _MANY and held < _FEW_SHARE * point.retained

    def _level(self, above: Indices, *, single: bool) -> tuple[int | None, Indices]:
        """The most frequent class below some objects, or among them, and its objects.

        Args:
            above: the objects.
            single: whether to look only below them.
        """
        dump, tree = self._snapshot._dump, self._tree
        count = len(self._snapshot.classes)
        found: list[Indices] = []
        sizes = numpy.zeros(count, numpy.uint64)
        named = self._named
        level = tree.children_of_all(above) if single else above
        for _ in range(_LEVELS):
            if single:
                level = level[~numpy.isin(level, self._apart)]
            level = level[(dump.extent[level] & EXTENT_CLASS) == 0]
            classes = dump.class_of[level]
            passed = self._passed[classes]
            if not single:
                passed |= numpy.array([self._is_thread(one) for one in classes.tolist()], bool)
            payload = level[~passed]
            found.append(payload)
            numpy.add.at(sizes, named[dump.class_of[payload]], tree.retained[payload])
            if not passed.any():
                break
            level = tree.children_of_all(level[passed])
        total = int(sizes.sum())
        if not total:
            return None, above[:0]
        best = int(sizes.argmax())
        own = int(numpy.where(self._of_program, sizes, 0).argmax())
        if int(sizes[own]) >= _PROGRAM_SHARE * total and self._of_program[own]:
            best = own
        every = numpy.concatenate(found)
        return best, every[named[dump.class_of[every]] == best]

    def _is_thread(self, index: int) -> bool:
        cls = self._snapshot.classes.by_index(index)
        return any(one.name == "java.lang.Thread" for one in (cls, *cls.superclasses))

    # Its owner

    def _suspect(self, point: _Point) -> Suspect:
        snapshot = self._snapshot
        content, count = self._contents(point)
        order = numpy.argsort(self._tree.retained[point.members])[::-1][:_MOST_OWNERS]
        members = Objects(snapshot, point.members[order])
        ways = snapshot.paths_to_roots(members)
        weakly = None
        owners: dict[str, int] = {}
        loaders: dict[str, str] = {}
        paths: dict[str, tuple[Object, list[tuple[str, Object]]]] = {}
        for one in members:
            assert one is not None
            path = ways.path(one)
            if not path:
                weakly = weakly or snapshot.paths_to_roots(members, weak=True)
                path = weakly.path(one)
            if len(point.members) > 1:
                path = path + self._into(one)
            owner, cls = owner_of(snapshot, path)
            if cls is not None and cls.label != cls.name:
                loaders[owner] = cls.loader_name
            owners[owner] = owners.get(owner, 0) + one.retained
            paths.setdefault(owner, (one, path))
        owner = best = max(owners, key=lambda name: owners[name])
        obj, path = paths[best]
        others = sum(held >= _OTHERS * owners[best] for held in owners.values()) - 1
        if others:
            owner += f" and {_counted(others, 'more place')}"
        return Suspect(
            obj,
            point.retained,
            point.retained / max(1, self._tree.total),
            content,
            count,
            path,
            owner,
            len(point.members),
            (loaders[best],) if best in loaders else (),
        )

    def _into(self, obj: Object) -> list[tuple[str, Object]]:
        """Go from one of many similar objects to what it holds most of, through containers."""
        found = []
        for _ in range(_LEVELS):
            if not (self._passed[obj.cls.index] or self._is_thread(obj.cls.index)):
                break
            children = self._tree.children(obj)
            if not len(children):
                break
            below = children[0]
            assert below is not None
            found.append((self._snapshot.reference_name(obj, below), below))
            obj = below
        return found


def _path_lines(path: list[tuple[str, Object]]) -> list[str]:
    return [f"  {name}: {one!r}" for name, one in path]
