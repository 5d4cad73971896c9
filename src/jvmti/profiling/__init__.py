"""Profiles of a running JVM: `jvmti.VM.profile` takes them.

What lives here: the life of a profile, and the tables made of what the agent sends.  What does not:
what a profile says, its views and files (`jvmti.profile`, which needs no JVM).
"""

from __future__ import annotations
