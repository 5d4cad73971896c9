"""Numbers that go into a collection, or are looked for in one, boxed as its own are.

``Map.get`` takes any object, and a ``Long`` equals no ``Integer``: what Java would make of ``5`` is
never found among keys of type ``Long``.  So a plain Python number becomes what the first keys,
values or elements are, if these are all of one type and the number fits it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jvmti import refs
from jvmti.interface.signatures import BOXED
from jvmti.model.values.containers import Reader, contents_of
from jvmti.model.values.conversion import OBJECT, conversion_to, natural_signature, supertypes

if TYPE_CHECKING:
    from jvmti.model.vm import VM

_SAMPLED = 8
"""Elements that say what the others are."""

_MAP = "Ljava/util/Map;"
_COLLECTION = "Ljava/util/Collection;"

_OF_MAPS = frozenset(
    "get containsKey containsValue remove getOrDefault put putIfAbsent replace compute"
    " computeIfAbsent computeIfPresent merge floorKey ceilingKey higherKey lowerKey floorEntry"
    " ceilingEntry higherEntry lowerEntry headMap tailMap subMap putFirst putLast".split()
)
_OF_COLLECTIONS = frozenset(
    "contains indexOf lastIndexOf add addFirst addLast offer offerFirst offerLast push put remove"
    " set floor ceiling higher lower headSet tailSet subSet removeFirstOccurrence"
    " removeLastOccurrence".split()
)


def boxes_like(item: Any, name: str, types: list[str], arguments: Any) -> list[str]:
    """The types that the arguments of a call are to become.

    Args:
        item: what the method is called on.
        name: of the method.
        types: of its parameters.
        arguments: Python values and objects of the model.
    """
    plain = [
        place
        for place, (value, wanted) in enumerate(zip(arguments, types, strict=True))
        if wanted == OBJECT and _is_plain(value)
    ]
    if not plain or name not in _OF_MAPS | _OF_COLLECTIONS or not isinstance(item, refs.Object):
        return types
    kinds = supertypes(item.cls)  # type: ignore[attr-defined]
    is_map = _MAP in kinds
    if name not in (_OF_MAPS if is_map else _OF_COLLECTIONS if _COLLECTION in kinds else ()):
        return types
    vm: VM = item._vm  # type: ignore[attr-defined]
    found = list(types)
    for place in plain:
        values = is_map and (name == "containsValue" or (place > 0 and name != "subMap"))
        box = _box_of(vm, item, is_map=is_map, values=values)
        if box is not None and conversion_to(vm, arguments[place], box) is not None:
            found[place] = box
    return found


def _is_plain(value: Any) -> bool:
    """Whether a value says nothing of its type in Java: NumPy's numbers do."""
    return type(value) in (int, float, str) and natural_signature(value) is not None


def _box_of(vm: VM, item: Any, *, is_map: bool, values: bool) -> str | None:
    """The class that boxes the keys, values or elements; ``None`` if they are not of one such."""
    found = contents_of(Reader(vm, _SAMPLED, 0, unbox=False), item)
    if found is None:
        sampled = _first(item, "values" if values else "keySet" if is_map else "")
    elif is_map:
        sampled = [entry[values] for entry in found.items]
    else:
        sampled = found.items
    signatures = {
        one.cls.signature if isinstance(one, refs.Object) else ""  # type: ignore[attr-defined]
        for one in sampled
    }
    return next(iter(signatures)) if len(signatures) == 1 and signatures <= set(BOXED) else None


def _first(item: Any, view: str) -> list[Any]:
    elements = item.call(view, signature="()") if view else item
    each = elements.call("iterator", signature="()")
    return [each.call("next", signature="()")] if each.call("hasNext", signature="()") else []


__all__ = ["boxes_like"]
