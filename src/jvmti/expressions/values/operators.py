"""Java's arithmetic on primitive values: promotion, overflow, shifts, conversions.

A value is a Python number: a ``char`` its UTF-16 unit, a ``float`` the number that it holds.  No
JVM is needed here.
"""

from __future__ import annotations

import math
import operator
import struct
from collections.abc import Callable
from typing import Any

BITS = {"B": 8, "S": 16, "C": 16, "I": 32, "J": 64}
"""The width of the types of whole numbers."""

INTEGERS = frozenset(BITS)
NUMBERS = INTEGERS | {"F", "D"}
"""The letters of the numeric types."""

_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
}
_BITWISE: dict[str, Callable[[Any, Any], Any]] = {
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
}
_RELATIONS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


def wrapped(number: int, letter: str) -> int:
    """A whole number as its type holds it: the upper bits are lost."""
    bits = BITS[letter]
    number &= (1 << bits) - 1
    if letter != "C" and number >> (bits - 1):
        number -= 1 << bits
    return number


def single(number: float) -> float:
    """A number rounded to a ``float``."""
    try:
        (found,) = struct.unpack("<f", struct.pack("<f", number))
    except OverflowError:
        return math.copysign(math.inf, number)
    return float(found)


def fits(number: int, letter: str) -> bool:
    """Whether a whole number is in the range of a type."""
    return wrapped(number, letter) == number


def converted(value: Any, source: str, target: str) -> Any:
    """A primitive value cast to another primitive type.

    Args:
        value: the value.
        source: the letter of its type.
        target: the letter of the type that it becomes.
    """
    if source == target:
        return value
    if target == "D":
        return float(value)
    if target == "F":
        return single(float(value)) if source in "FD" else _rounded(value)
    if source in "FD":
        value = _whole(value, "J" if target == "J" else "I")
    return wrapped(value, target)


def _rounded(number: int) -> float:
    """A whole number as the nearest ``float``, rounded once."""
    extra = abs(number).bit_length() - 26
    if extra > 0:  # the last bit stands for all below it, so that a double holds the number exactly
        sticky = (abs(number) >> extra) | (abs(number) & ((1 << extra) - 1) != 0)
        number = (sticky << extra) * (1 if number > 0 else -1)
    return single(float(number))


def _whole(value: float, letter: str) -> int:
    """A fraction without what is behind its point, at most what the type holds."""
    if math.isnan(value):
        return 0
    limit = 1 << (BITS[letter] - 1)
    if value >= limit:
        return limit - 1
    return -limit if value <= -limit else int(value)


def promoted(one: str, other: str | None = None) -> str:
    """The type that an operator computes in, from the types of its operands."""
    types = (one, other or "I")
    for letter in "DFJ":
        if letter in types:
            return letter
    return "I"


def arithmetic(symbol: str, letter: str, left: Any, right: Any) -> Any:
    """The result of ``+ - * / % & | ^`` on two values of a promoted type, or of ``boolean``.

    Raises:
        ZeroDivisionError: a whole number is divided by 0.
    """
    if symbol in _BITWISE:
        return _BITWISE[symbol](left, right)
    if letter in "FD":
        found = _fraction(symbol, left, right)
        return single(found) if letter == "F" else found
    if symbol in _ARITHMETIC:
        return wrapped(_ARITHMETIC[symbol](left, right), letter)
    quotient = abs(left) // abs(right)
    if (left < 0) != (right < 0):
        quotient = -quotient
    return wrapped(quotient if symbol == "/" else left - quotient * right, letter)


def _fraction(symbol: str, left: float, right: float) -> float:
    if symbol in _ARITHMETIC:
        return float(_ARITHMETIC[symbol](left, right))
    if symbol == "%":
        return math.nan if math.isinf(left) or right == 0 else math.fmod(left, right)
    if right != 0:
        return left / right
    if left == 0 or math.isnan(left) or math.isnan(right):
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1.0, right)


def shifted(symbol: str, letter: str, value: int, distance: int) -> int:
    """The result of ``<< >> >>>``; of the distance the lowest five bits count, six for ``long``."""
    bits = BITS[letter]
    distance &= bits - 1
    if symbol == "<<":
        return wrapped(value << distance, letter)
    if symbol == ">>":
        return value >> distance
    return wrapped((value & ((1 << bits) - 1)) >> distance, letter)


def compared(symbol: str, left: Any, right: Any) -> bool:
    """The result of a comparison of two values of one type."""
    return _RELATIONS[symbol](left, right)


def negated(letter: str, value: Any) -> Any:
    """The result of a minus sign."""
    return -value if letter in "FD" else wrapped(-value, letter)


ARITHMETIC_SYMBOLS = frozenset((*_ARITHMETIC, "/", "%"))
BITWISE_SYMBOLS = frozenset(_BITWISE)
SHIFT_SYMBOLS = frozenset(("<<", ">>", ">>>"))
ORDER_SYMBOLS = frozenset(("<", "<=", ">", ">="))
EQUALITY_SYMBOLS = frozenset(("==", "!="))

__all__ = [
    "ARITHMETIC_SYMBOLS",
    "BITS",
    "BITWISE_SYMBOLS",
    "EQUALITY_SYMBOLS",
    "INTEGERS",
    "NUMBERS",
    "ORDER_SYMBOLS",
    "SHIFT_SYMBOLS",
    "arithmetic",
    "compared",
    "converted",
    "fits",
    "negated",
    "promoted",
    "shifted",
    "single",
    "wrapped",
]
