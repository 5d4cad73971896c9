"""Elements of Java arrays, one at a time and many."""

from __future__ import annotations

from typing import Any

from jvmti.deferred import is_array, numpy
from jvmti.model.objects.reading import read_elements
from jvmti.model.values import conversion as values
from jvmti.model.values.conversion import PRIMITIVE_NAMES
from jvmti.text.quantities import quantity


def length_of(array: Any) -> int:
    """How many elements an array has; asked for once.

    JNI: GetArrayLength.
    """
    try:
        known: int = array._length
    except AttributeError:
        known = array._length = array._vm.jni.get_array_length(array)
    return known


def _index(array: Any, place: Any) -> int:
    if isinstance(place, bool) or not hasattr(place, "__index__"):
        raise TypeError(f"an array has indices and slices, not {type(place).__name__}")
    count = length_of(array)
    index = place.__index__()
    if not -count <= index < count:
        raise IndexError(f"index {index} of an array with {count} elements")
    return int(index % count)


def get_objects(array: Any, place: Any) -> Any:
    """An element of an array of references, or a list of some."""
    vm = array._vm
    if not isinstance(place, slice):
        return read_elements(vm, array, _index(array, place), 1)[0]
    chosen = range(*place.indices(length_of(array)))
    if not chosen:
        return []
    first, last = min(chosen[0], chosen[-1]), max(chosen[0], chosen[-1])
    found = read_elements(vm, array, first, last - first + 1)
    return [found[index - first] for index in chosen] if chosen.step != 1 else found


def set_objects(array: Any, place: Any, value: Any) -> None:
    """Change an element of an array of references, or some."""
    vm = array._vm
    element = array.cls.signature[1:]
    if not isinstance(place, slice):
        index = _index(array, place)
        made = values.to_java(vm, value, element)
        vm.jni.set_object_array_element(array, index, made)
        return
    places = list(range(*place.indices(length_of(array))))
    given = list(value)
    if len(given) != len(places):
        came, room = quantity(len(given), "value"), quantity(len(places), "element")
        raise ValueError(f"{came} for {room}: arrays do not grow")
    for one in given:
        if values.conversion_to(vm, one, element) is None:
            raise values.refusal(vm, one, element, "element")
    if places:
        items = values.in_bulk(vm, given, element)
        vm.map.set_object_array_element(array, places, items).check()


def _function(array: Any, before: str, after: str) -> Any:
    return getattr(array._vm.jni, f"{before}_{PRIMITIVE_NAMES[array.LETTER]}_array_{after}")


def get_all(array: Any) -> numpy.ndarray[Any, Any]:
    """All elements of an array of primitive values."""
    found: numpy.ndarray[Any, Any] = _function(array, "get", "elements")(array)
    return found


def listed_numbers(array: Any, start: int, count: int) -> list[Any]:
    """Elements of an array of primitive values as Python has them, fewer at its end.

    A `char` is text of one UTF-16 unit.
    """
    count = min(count, length_of(array) - start)
    if count <= 0:
        return []
    # By a map request, because a single call gives an array of NumPy.
    region = getattr(array._vm.map, f"get_{PRIMITIVE_NAMES[array.LETTER]}_array_region")
    found: list[Any] = region(array, start, count).check().value.listed(0)
    return [chr(one) for one in found] if array.LETTER == "C" else found


def get_numbers(array: Any, place: Any) -> Any:
    """An element of an array of primitive values, or a NumPy array of some."""
    if not isinstance(place, slice):
        return listed_numbers(array, _index(array, place), 1)[0]
    region = _function(array, "get", "region")
    chosen = range(*place.indices(length_of(array)))
    if not chosen:
        return numpy.empty(0, values.DTYPES[array.LETTER])
    first, last = min(chosen[0], chosen[-1]), max(chosen[0], chosen[-1])
    found = region(array, first, last - first + 1)
    return found if chosen.step == 1 else found[[index - first for index in chosen]]


def set_numbers(array: Any, place: Any, value: Any) -> None:
    """Change an element of an array of primitive values, or some."""
    vm, letter = array._vm, array.LETTER
    dtype = values.DTYPES[letter]
    if not isinstance(place, slice):
        index = _index(array, place)
        made = numpy.array([values.to_java(vm, value, letter)], dtype)
        _function(array, "set", "region")(array, index, made)
        return
    chosen = range(*place.indices(length_of(array)))
    numbers = _numbers(vm, value, letter, len(chosen))
    if not chosen:
        return
    if chosen.step == 1:
        _function(array, "set", "region")(array, chosen[0], numbers)
        return
    first, last = min(chosen[0], chosen[-1]), max(chosen[0], chosen[-1])
    between = array[first : last + 1]
    between[[index - first for index in chosen]] = numbers
    _function(array, "set", "region")(array, first, between)


def _numbers(vm: Any, value: Any, letter: str, count: int) -> Any:
    """A value for each of the elements."""
    if letter == "C" and isinstance(value, str) and len(value) == count:
        value = list(value)
    if numpy.ndim(value) == 0:
        made = values.to_java(vm, value, letter)
        return numpy.full(count, made, values.DTYPES[letter])
    if letter == "C" and is_array(value) and value.dtype == numpy.uint16:
        given: Any = value
    elif is_array(value):
        given = values.narrowed(value, letter)
        if given is None:
            wanted = PRIMITIVE_NAMES[letter]
            raise TypeError(f"expected elements of {wanted}, got {value.dtype}, or they do not fit")
    else:
        given = numpy.array(
            [values.to_java(vm, one, letter) for one in value], values.DTYPES[letter]
        )
    if len(given) != count:
        came, room = quantity(len(given), "value"), quantity(count, "element")
        raise ValueError(f"{came} for {room}: arrays do not grow")
    return given


__all__ = [
    "get_all",
    "get_numbers",
    "get_objects",
    "length_of",
    "listed_numbers",
    "set_numbers",
    "set_objects",
]
