"""The fields of every type that the program Witness has, and other values for them."""

from __future__ import annotations

import math
from typing import Any

STATIC = {
    "boolean": ("staticBoolean", True),
    "byte": ("staticByte", -128),
    "char": ("staticChar", "€"),
    "short": ("staticShort", -32768),
    "int": ("staticInt", -(2**31)),
    "long": ("staticLong", -(2**63)),
    "float": ("staticFloat", math.ldexp(1, -149)),
    "double": ("staticDouble", math.ldexp(1, -1074)),
}

CHANGED: dict[str, tuple[Any, str]] = {
    "boolean": (False, "false"),
    "byte": (-1, "-1"),
    "char": ("Ж", "Ж"),
    "short": (-300, "-300"),
    "int": (70_000, "70000"),
    "long": (-(2**40), "-1099511627776"),
    "float": (0.15625, "0.15625"),
    "double": (-1e300, "-1.0E300"),
}
