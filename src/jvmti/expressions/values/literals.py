"""The values of Java's literals."""

from __future__ import annotations

import math
import re

from jvmti.deferred import fractions
from jvmti.expressions.values.operators import single

_ESCAPES = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r", "s": " ", "\n": ""}
_ESCAPE = re.compile(r"\\(?:u+([0-9a-fA-F]{4})|([0-3]?[0-7]{1,2})|(.))", re.S)


def whole_number(text: str, negative: bool = False) -> tuple[str, int]:
    """The type and the value of a literal of a whole number.

    Args:
        text: the literal.
        negative: a minus sign stands before it, which allows one number more.

    Raises:
        ValueError: it is too large for its type.
    """
    digits = text.replace("_", "").lower()
    letter, bits = "I", 32
    if digits.endswith("l"):
        digits, letter, bits = digits[:-1], "J", 64
    if digits.startswith("0x"):
        base, number = 16, int(digits[2:], 16)
    elif digits.startswith("0b"):
        base, number = 2, int(digits[2:], 2)
    elif len(digits) > 1 and digits.startswith("0"):
        base, number = 8, int(digits, 8)
    else:
        base, number = 10, int(digits)
    kind = "long" if letter == "J" else "int"
    if base == 10:
        if number > (1 << (bits - 1)) - (not negative):
            raise ValueError(f"{text} is too large for {kind}")
    elif number >> bits:
        raise ValueError(f"{text} is too large for {kind}")
    elif number >> (bits - 1):
        number -= 1 << bits
    return letter, number


def fraction(text: str) -> tuple[str, float]:
    """The type and the value of a literal of a ``float`` or ``double``.

    Raises:
        ValueError: it is too large, or so small that it would be 0.
    """
    digits = text.replace("_", "").lower()
    is_hex = digits.startswith("0x")
    letter = "D"
    if digits[-1] in "fd" and not (is_hex and "p" not in digits):
        letter, digits = digits[-1].upper(), digits[:-1]
    exact = _hex_fraction(digits) if is_hex else fractions.Fraction(digits)
    value = _single(exact) if letter == "F" else _double(exact)
    if math.isinf(value) or (value == 0 and exact != 0):
        raise ValueError(f"{text} does not fit {'float' if letter == 'F' else 'double'}")
    return letter, value


def _hex_fraction(digits: str) -> fractions.Fraction:
    mantissa, _, exponent = digits[2:].partition("p")
    before, _, behind = mantissa.partition(".")
    number = fractions.Fraction(int(before + behind or "0", 16), 16 ** len(behind))
    return number * fractions.Fraction(2) ** int(exponent or "0")


def _double(exact: fractions.Fraction) -> float:
    """The ``double`` next to a number."""
    try:
        return float(exact)
    except OverflowError:
        return math.inf


def _single(exact: fractions.Fraction) -> float:
    """The ``float`` next to a number: by way of a double it would be rounded twice."""
    near = _double(exact)
    if math.isinf(near):
        return near
    found = single(near)
    error = fractions.Fraction(near) - exact
    if error and fractions.Fraction(single(near)) != fractions.Fraction(near):
        # The double may lie exactly between two floats, where the number does not.
        nudged = math.nextafter(near, -math.inf if error > 0 else math.inf)
        between = single(nudged)
        if abs(fractions.Fraction(between) - exact) < abs(fractions.Fraction(found) - exact):
            return between
    return found


def unescaped(text: str) -> str:
    """Text between quotes as the program has it, in UTF-16 units where it needs to be."""

    def one(found: re.Match[str]) -> str:
        unicode, octal, single_character = found.groups()
        if unicode:
            return chr(int(unicode, 16))
        if octal:
            return chr(int(octal, 8))
        if single_character in _ESCAPES:
            return _ESCAPES[single_character]
        if single_character in "'\"\\":
            return str(single_character)
        raise ValueError(f"Java has no escape \\{single_character}")

    # Two halves of a character become one.
    return (
        _ESCAPE.sub(one, text)
        .encode("utf-16-le", "surrogatepass")
        .decode("utf-16-le", "surrogatepass")
    )


def character(text: str) -> int:
    """The value of a literal of a ``char``, from the text between its quotes.

    Raises:
        ValueError: it is not one UTF-16 unit.
    """
    found = unescaped(text)
    if len(found) != 1 or ord(found) > 0xFFFF:
        raise ValueError(f"'{text}' is not one char")
    return ord(found)


def text_block(text: str) -> str:
    """The text of a block between three quotes, without the indentation that all lines share."""
    _, _, body = text.partition("\n")
    lines = body.split("\n")
    counted = [line for line in lines[:-1] if line.strip()] + lines[-1:]
    indent = min(len(line) - len(line.lstrip()) for line in counted)
    stripped = [line[indent:].rstrip() if line.strip() else "" for line in lines]
    return unescaped("\n".join(stripped))


__all__ = ["character", "fraction", "text_block", "unescaped", "whole_number"]
