"""``vm.classes``: the loaded classes, by pattern and as a table.

Names and loaders of all of them come in one message, without a handle for each: 30,000 classes take
about as long as a thousand single calls.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from jvmti import display
from jvmti.deferred import difflib, numpy
from jvmti.env.environment import Mapped
from jvmti.interface.constants import ClassStatus
from jvmti.interface.modifiers import ClassModifiers
from jvmti.interface.signatures import java_name, matcher, signature_of
from jvmti.operations.functions import OPERATIONS
from jvmti.text import modified_utf8 as text
from jvmti.text.names import BOOTSTRAP, package_of
from jvmti.text.printable import escaped, printable
from jvmti.text.quantities import quantity
from jvmti.wire.columns import HandleColumn

if TYPE_CHECKING:
    import pyarrow

    from jvmti.model.classes.java_class import Class
    from jvmti.model.classes.modules import ClassLoader
    from jvmti.model.vm import VM

_SAME_PACKAGE = 0.6
"""How much two packages have in common that may be meant for one."""
_ALIKE = 3
"""The most similar names that a message suggests."""

_COMPARED = 100
"""How many names to compare with a misspelt one letter by letter."""


class ClassNames(display.Tabular):
    """The loaded classes as columns, one row each.

    Attributes:
        signatures: their type signatures.
        names: their names as Java writes them.
        loader_of: of each the number of its loader in `loaders`, as ``int32``.
        loaders: the names of the loaders; 0 is the bootstrap loader.
        loader_objects: the loaders, without the bootstrap loader.
        modifiers: access flags, as ``int32``; empty without details.
        statuses: `ClassStatus`, as ``int32``; the same.
        module_of: of each the number of its module in `modules`, as ``int32``; the same.
        modules: the names of the modules, ``None`` for unnamed ones; 0 stands for no module.
    """

    def __init__(self, vm: VM, *, details: bool) -> None:
        table = _agent(vm).list_classes(True, details).check()
        self.signatures, self.names = _texts(table.signatures[0])
        self.loader_of = table.loader_of[0]
        self.modifiers = table.modifiers[0]
        self.statuses = table.statuses[0]
        self.module_of = table.module_of[0]
        loaders, modules = table.loaders.items, table.modules.items
        self.loader_objects: list[ClassLoader] = list(loaders)
        self.loaders = [BOOTSTRAP, *(_loader_name(loader) for loader in self.loader_objects)]
        self.modules = [None, *(module.name for module in modules)]
        modules.release()

    def __len__(self) -> int:
        return len(self.names)

    @property
    def loader_names(self) -> list[str]:
        """The name of each one's loader: ``bootstrap``, ``platform``, ``app``, or its own."""
        loaders = self.loaders
        return [loaders[number] for number in self.loader_of.tolist()]

    def to_arrow(self, rows: Any = None) -> pyarrow.Table:
        """The columns as an Arrow table; needs details.

        Args:
            rows: which of them; all by default.

        Raises:
            ImportError: pyarrow is not installed; ``pip install 'jvmti[arrow]'`` does.
        """
        import pyarrow

        chosen = numpy.arange(len(self)) if rows is None else numpy.asarray(rows, numpy.int64)
        numbers = chosen.tolist()
        names = [self.names[row] for row in numbers]
        modifiers = self.modifiers[chosen]

        def words(of: Any, values: list[Any]) -> Any:
            # A dictionary has each word once, and no null: null is an index of its own.
            known = [word for word in dict.fromkeys(values) if word is not None]
            places = {word: at for at, word in enumerate(known)}
            codes = numpy.array([places.get(word, -1) for word in values], numpy.int32)[of[chosen]]
            indices = pyarrow.array(codes, pyarrow.int32(), mask=codes < 0)
            texts = pyarrow.array(known, "string")
            return pyarrow.DictionaryArray.from_arrays(indices, texts)

        return pyarrow.table(
            {
                "name": pyarrow.array(names, "string"),
                "package": pyarrow.array([_package(name) for name in names], "string"),
                "loader": words(self.loader_of, self.loaders),
                "module": words(self.module_of, self.modules),
                "modifiers": modifiers,
                "is_interface": modifiers & int(ClassModifiers.INTERFACE) != 0,
                "is_array": numpy.array([name.endswith("]") for name in names], bool),
                "is_initialized": self.statuses[chosen] & int(ClassStatus.INITIALIZED) != 0,
                "status": self.statuses[chosen],
            }
        )


class Classes(display.Tabular):
    """The classes that are loaded: ``vm.classes``.

    ``vm.classes("java.util.*Map")`` returns those that match a shell pattern; the object itself can
    be iterated, and has a length. A class cannot be unloaded while you hold one of its objects.
    """

    def __init__(self, vm: VM) -> None:
        self._vm = vm

    def __call__(self, pattern: str = "*") -> ClassList:
        """The loaded classes whose names match a shell pattern: ``"java.util.*Map"``.

        Array classes have names such as ``int[]`` and ``java.lang.String[]``.  A class cannot be
        unloaded while you keep it, or the list.

        Args:
            pattern: a shell pattern, with ``*``, ``?`` and ``[…]``.

        Raises:
            TypeError: the pattern is not text.

        JVM TI: GetLoadedClasses, GetClassSignature.
        """
        if not isinstance(pattern, str):
            raise TypeError(f"a pattern for classes must be text, not {type(pattern).__name__}")
        if pattern == "*":
            column = self._vm.env.map.get_loaded_classes().check().value.items
            return _listed(self._vm, column)
        matches = matcher(pattern)
        texts = zip(*_texts(_signatures(self._vm)), strict=True)
        return self._with({signature for signature, name in texts if matches(name)})

    def named(self, name: str) -> ClassList:
        """The loaded classes with exactly this name; several loaders may each have one.

        Args:
            name: as Java writes it, ``java.util.Map$Entry`` or ``int[]``.

        JVM TI: GetLoadedClasses, GetClassSignature.
        """
        # Release 11 writes a hidden class with a slash, later ones with a dot.
        return self._with({signature_of(name), f"L{name.replace('.', '/')};"})

    def find(self, name: str) -> Class:
        """The loaded class of that name; never loads one.

        Args:
            name: as Java writes it, ``java.util.Map$Entry`` or ``int[]``.

        Raises:
            LookupError: none is loaded, or several class loaders have one; the message names the
                loaders, or similar names.
            TypeError: the name is not text.
        """
        if not isinstance(name, str):
            raise TypeError(f"the name of a class must be text, not {type(name).__name__}")
        found = self.named(name)
        if len(found) == 1:
            return found[0]
        if found:
            loaders = ", ".join(_loader_name(cls.loader) for cls in found)
            raise LookupError(
                printable(
                    f"{len(found)} class loaders have a class {name!r}: {loaders}; "
                    f"vm.classes({name!r}) gives all, in this order"
                )
            )
        alike = self.near(name)
        hint = f" similar ones: {', '.join(alike)};" if alike else ""
        internal = name.replace(".", "/")
        raise LookupError(
            f"no class {name!r} is loaded;{hint} vm.jni.find_class({internal!r}) loads it, "
            "where the system class loader finds it"
        )

    def names(self, *, details: bool = False) -> ClassNames:
        """The names and loaders of all loaded classes as columns, in one message.

        Args:
            details: include modules, access flags and statuses.

        JVM TI: GetLoadedClasses, GetClassSignature, GetClassLoader.
        """
        return ClassNames(self._vm, details=details)

    def complete(self, prefix: str, limit: int = 100, *, arrays: bool = True) -> list[str]:
        """Names of loaded classes with this prefix, for completion; shorter ones first.

        A prefix without a dot matches names without their package, too: ``HashM`` finds
        ``java.util.HashMap``.

        Args:
            prefix: the beginning of the name: ``java.util.Ha``.
            limit: how many at most.
            arrays: include arrays: ``int[]``, ``java.lang.String[][]``.
        """
        wanted = prefix.replace(".", "/")
        # Drop most classes before building names.
        pieces = _signatures(self._vm).split(b"\0")
        start = b"L" + text.encode(wanted)
        found = [piece for piece in pieces if piece.startswith(start)]
        if "." not in prefix and prefix:
            inside = b"/" + start[1:]
            found += [
                one for one in pieces if inside in one and one.rfind(b"/") == one.find(inside)
            ]
        names = {java_name(text.decode(one)) for one in found if not one.startswith(b"[")}
        if arrays:
            for name in [java_name(text.decode(one)) for one in pieces if one.startswith(b"[")]:
                last = name.rpartition(".")[2]
                if name.startswith(prefix) or ("." not in prefix and last.startswith(prefix)):
                    names.add(name)
        return sorted(names, key=lambda name: (len(name), name))[:limit]

    def near(self, name: str) -> list[str]:
        """Names of loaded classes similar to one, the nearest first."""
        names = {one for one in _texts(_signatures(self._vm))[1] if not one.endswith("]")}
        last = name.rpartition(".")[2]
        lasts: dict[str, list[str]] = {}
        for one in names:
            lasts.setdefault(one.rpartition(".")[2], []).append(one)
        # The same name in another package or another case comes before similar names.
        folded = last.lower()
        alike = [short for short in lasts if short.lower() == folded]
        if not alike:
            # Comparing is slow: only names with most pairs of letters in common.
            shorts = list(lasts)
            likely = [shorts[row] for row in _most_in_common(last, shorts)]
            alike = difflib.get_close_matches(last, likely, _ALIKE, 0.75)
        found = [one for short in alike for one in lasts[short]]
        if last.lower() not in (short.lower() for short in alike):
            # Both a similar name and another package mean something else.
            found = [one for one in found if _is_near(one, name)]
        return sorted(found, key=lambda one: -_likeness(one, name))[:_ALIKE]

    def to_arrow(self) -> pyarrow.Table:
        """All loaded classes as an Arrow table, one row each.

        Its columns: ``name``, ``package``, ``loader`` (``bootstrap``, ``platform``, ``app``, or its
        name or class and identity hash), ``module`` (null for the unnamed ones), ``modifiers``,
        ``is_interface``, ``is_array``, ``is_initialized`` and ``status``.

        Raises:
            ImportError: pyarrow is not installed; ``pip install 'jvmti[arrow]'`` does.
        """
        return self.names(details=True).to_arrow()

    def __getitem__(self, name: str) -> Class:
        """The loaded class of that name, as `find` gives it."""
        return self.find(name)

    def __iter__(self) -> Iterator[Class]:
        return iter(self())

    def __len__(self) -> int:
        return _signatures(self._vm).count(0)

    def __contains__(self, name: object) -> bool:
        return bool(self.named(name)) if isinstance(name, str) else False

    def _with(self, signatures: set[str]) -> ClassList:
        wanted = b"".join(text.encode(signature) + b"\0" for signature in signatures)
        found = _agent(self._vm).find_classes(wanted).check()
        return _listed(self._vm, found.value.items)

    @escaped
    def __repr__(self) -> str:
        return f"<{quantity(len(self), 'loaded class')}>"


class ClassList(display.Tabular, list["Class"]):
    """Classes in the order of the VM: a list, and a table."""

    _repr_html_ = display.html

    def to_arrow(self) -> pyarrow.Table:
        """The classes as an Arrow table, as `Classes.to_arrow` has it, in the order of the list.

        Raises:
            ImportError: pyarrow is not installed; ``pip install 'jvmti[arrow]'`` does.
        """
        import pyarrow

        if not self:
            return pyarrow.table({})
        vm = self[0]._vm
        rows = _rows(vm, self)
        names = ClassNames.__new__(ClassNames)
        names.__dict__.update(rows)
        return names.to_arrow()


def _rows(vm: VM, classes: list[Class]) -> dict[str, Any]:
    """The columns of some classes, over columns of handles."""
    loaders: HandleColumn = vm.env.map.get_class_loader(classes).check().value
    modules: HandleColumn = vm.map.get_module(classes).check().value
    signatures = [cls.signature for cls in classes]
    named: dict[str, int] = {}
    loader_of = [named.setdefault(_loader_name(loader), len(named)) for loader in loaders]
    owners: dict[str | None, int] = {}
    module_of = [owners.setdefault(one.name if one else None, len(owners)) for one in modules]
    found = {
        "signatures": signatures,
        "names": [java_name(signature) for signature in signatures],
        "loader_of": numpy.array(loader_of, "<i4"),
        "loaders": list(named),
        "module_of": numpy.array(module_of, "<i4"),
        "modules": list(owners),
        "modifiers": vm.env.map.get_class_modifiers(classes).check().value,
        "statuses": vm.env.map.get_class_status(classes).check().value,
    }
    loaders.release()
    modules.release()
    return found


def _listed(vm: VM, column: HandleColumn) -> ClassList:
    found = ClassList()
    signatures: Iterable[str | None] = vm.env.map.get_class_signature(column).signature
    for at, signature in enumerate(signatures):
        if signature is not None:
            cls: Class = column[at]
            cls._signature = signature
            found.append(cls)
    return found


def _agent(vm: VM) -> Mapped:
    return Mapped(vm._session, OPERATIONS, 1)


def _signatures(vm: VM) -> bytes:
    """The signatures of all loaded classes, each with a zero byte after it."""
    found: bytes = _agent(vm).list_classes(False, False).check().signatures[0]
    return found


def _loader_name(loader: Any) -> str:
    return BOOTSTRAP if loader is None else str(loader.description)


def _texts(data: bytes) -> tuple[list[str], list[str]]:
    """Signatures, each with a zero byte after it, as texts and as names."""
    if data.isascii():
        signatures = data.decode("ascii").split("\0")[:-1]
        dotted = data.replace(b"/", b".").decode("ascii").split("\0")[:-1]
        names = [name[1:-1] for name in dotted]
        for row in _unusual(data):
            names[row] = java_name(signatures[row])
        return signatures, names
    signatures = [text.decode(one) for one in data.split(b"\0")[:-1]]
    return signatures, [java_name(signature) for signature in signatures]


_ALIKE_LETTERS = bytes.maketrans(b".123456789", b"[000000000")
"""For a search: a dot as the bracket of an array, and each digit as a zero."""


def _unusual(data: bytes) -> list[int]:
    """The rows of arrays and hidden classes, whose names are more than a signature with dots."""
    # Two searches, where a regular expression would look at each byte.
    plain = data.translate(_ALIKE_LETTERS)
    places = sorted([*_places(plain, b"["), *_places(plain, b"/0")])
    rows: list[int] = []
    row = last = 0
    for place in places:
        row += plain.count(0, last, place)
        last = place
        if rows[-1:] != [row]:
            rows.append(row)
    return rows


def _places(data: bytes, wanted: bytes) -> Iterator[int]:
    at = data.find(wanted)
    while at >= 0:
        yield at
        at = data.find(wanted, at + 1)


def _most_in_common(name: str, others: list[str]) -> list[int]:
    """The indices of the names with most pairs of letters in common with one."""
    if not others or len(name) < 2:
        return []
    wanted = numpy.zeros(1 << 16, numpy.int32)
    letters = numpy.frombuffer(name.encode(), numpy.uint8).astype(numpy.uint16)
    wanted[letters[:-1] << 8 | letters[1:]] = 1
    pieces = [other.encode() for other in others]
    text = numpy.frombuffer(b"".join(piece + b"\0" for piece in pieces), numpy.uint8)
    pairs = wanted[text[:-1].astype(numpy.uint16) << 8 | text[1:]]
    ends = numpy.cumsum([len(piece) + 1 for piece in pieces])
    common = numpy.add.reduceat(pairs, numpy.concatenate([[0], ends[:-1]]))
    return numpy.argsort(-common, kind="stable")[:_COMPARED].tolist()  # type: ignore[no-any-return]


def _package(name: str) -> str | None:
    found = package_of(name)
    return None if found == "(none)" else found


def _is_near(one: str, name: str) -> bool:
    """Whether the packages of two classes are similar; without one a name is of any."""
    package, dot, _ = name.rpartition(".")
    if not dot:
        return True
    return difflib.SequenceMatcher(None, one.rpartition(".")[0], package).ratio() >= _SAME_PACKAGE


def _likeness(one: str, name: str) -> float:
    return difflib.SequenceMatcher(None, one, name).ratio()


__all__ = ["ClassList", "ClassNames", "Classes"]
