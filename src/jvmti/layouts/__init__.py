"""All layouts that cross between agent and controller beside functions and events, declared once.

A module for each subject declares its enumerations, flags, constants and records with what
`jvmti.layouts.declare` offers.  Python reads and writes by these; the agent's build generates
``layouts.h`` from them, and the digest covers all of them, so that both sides can check that they
match.

What lives here: the layout of bytes. What does not: their meaning, which lives with the code that
reads them.
"""

from __future__ import annotations
