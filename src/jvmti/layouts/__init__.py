"""What crosses between agent and controller beside functions and events, each declared once.

A module for each subject declares its enumerations, flags, constants and records with what
`jvmti.layouts.declare` offers.  Python reads and writes by these; the agent's build makes
``layouts.h`` of the same, and all of them are in the digest by which two sides see that they were
built for each other.

What lives here: how bytes lie.  What they mean to a user lives with what reads them.
"""

from __future__ import annotations
