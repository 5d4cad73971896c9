"""All errors: the tree of the package's exceptions.

::

    Error                         (Exception)
     ├─ JvmtiError               a JVM TI function returned an error code; one subclass for each
     │   ├─ InvalidThread
     │   ├─ MustPossessCapability
     │   └─ …
     ├─ JavaException            the called Java code threw; carries the throwable
     ├─ SessionClosed            the session was over before the call (also RuntimeError)
     ├─ TargetLost               the JVM died or the connection broke (also ConnectionError)
     ├─ CallTimeout              the call overran its time limit (also TimeoutError)
     │   └─ PassOverran          a pass over the heap overran its limit, and has ended
     ├─ HandlerOverran           the event's thread has resumed without it (also TimeoutError)
     ├─ StopOver                 the thread has resumed from this stop (also RuntimeError)
     ├─ FrameGone                the thread has left the frame (also LookupError)
     ├─ InHeapCallback           not allowed in a heap callback (also RuntimeError)
     ├─ LeavingFrame             not allowed on a thread that leaves a frame (also RuntimeError)
     ├─ ForeignHandle            a handle of another session was given (also ValueError)
     ├─ NotInThisVersion         the VM is too old for the function (also NotImplementedError)
     ├─ ProtocolError            the agent sent something invalid (also RuntimeError)
     ├─ AttachError              a JVM is not reachable, or did not start
     │   ├─ TargetNotFound       no such process, or no JVM
     │   │   ├─ NoSuchProcess
     │   │   ├─ NotAJvm
     │   │   ├─ NoMatch
     │   │   └─ SeveralMatch     ``candidates`` lists them
     │   ├─ AttachRefused        the JVM, or the system, says no
     │   │   ├─ AttachDisabled   -XX:+DisableAttachMechanism
     │   │   ├─ DynamicLoadingRefused  -XX:-EnableDynamicAgentLoading
     │   │   ├─ OwnProcess       the JVM is in the caller's own process
     │   │   ├─ NotPermitted     another user, namespace or group
     │   │   ├─ TargetExhausted  it has no descriptor or no thread left
     │   │   └─ SuspiciousFile   a file has the wrong type or owner
     │   ├─ AttachTimeout        (also TimeoutError)
     │   │   └─ JvmStopped       the process is stopped by a signal
     │   ├─ JvmDied              it ended meanwhile
     │   ├─ AgentLibraryMissing  there is no agent library for the target
     │   ├─ AgentLoadFailed      the JVM could not load the agent, or the agent refused
     │   ├─ OptionsTooLong       the JVM's attach protocol cannot carry them
     │   ├─ AttachProtocolError  the JVM's answer does not follow the attach protocol
     │   └─ LaunchFailed         a started program ended, or never became a JVM
     ├─ OptionsError             an agent option string breaks the grammar (also ValueError)
     ├─ HeapError                an error with a heap dump or a snapshot
     │   ├─ NotADump             the file is something else (also ValueError)
     │   ├─ NoSuchClass          a pattern matches no class of the heap (also LookupError)
     │   ├─ NoSuchField          no object in a column has the field (also LookupError)
     │   ├─ TooManyObjects       more than numbers are available, or than the limit
     │   ├─ NotEnoughMemory               not enough memory for it (also MemoryError)
     │   ├─ Cancelled            a long step was cancelled
     │   └─ QueryError           an expression over a heap cannot be evaluated
     ├─ ProfileError             an error with a profile
     │   ├─ NotAProfile          a file is no profile, or damaged (also ValueError)
     │   └─ SeveralKinds         samples of several kinds do not add up (also LookupError)
     ├─ PauseTooLong             a step would stop the program for too long (also RuntimeError)
     ├─ MalformedClassFile       not a class file (also ValueError)
     ├─ BadProbe                 a probe is invalid (also ValueError)
     ├─ ConditionError           the agent cannot evaluate a condition (also ValueError)
     ├─ ExpressionError          a Java expression cannot be evaluated (also ValueError)
     ├─ SourceNotFound           no source of a class was found (also LookupError)
     ├─ MalformedSourceMap       a class file's source map breaks its rules (also ValueError)
     ├─ ScriptError              a file cannot be used as an agent
     │   └─ ScriptFailed         its agent_onload or agent_onattach returned a number other than 0
     ├─ UsageError               usage error of a command of the shell
     └─ NotEvaluated             completion does not evaluate such an expression

Each is defined by the module that raises it, and imported from there on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jvmti.interface import errors as _spec
from jvmti.interface.errors import *  # noqa: F403
from jvmti.reexports import reexports
from jvmti.target import errors as _target
from jvmti.target.errors import *  # noqa: F403

if TYPE_CHECKING:
    from jvmti.agents.script import ScriptError, ScriptFailed
    from jvmti.classfile.reading import MalformedClassFile
    from jvmti.expressions.errors import ExpressionError
    from jvmti.heap.errors import (
        Cancelled,
        HeapError,
        NoSuchClass,
        NoSuchField,
        NotADump,
        NotEnoughMemory,
        TooManyObjects,
    )
    from jvmti.heap.tables.query import QueryError
    from jvmti.instrumentation.probes import BadProbe
    from jvmti.interface.errors import PauseTooLong
    from jvmti.liveheap.passes import PassOverran
    from jvmti.model.debug.conditions import ConditionError
    from jvmti.model.threads.frames import FrameGone
    from jvmti.profile.errors import NotAProfile, ProfileError, SeveralKinds
    from jvmti.shell.expressions import NotEvaluated
    from jvmti.shell.magics import UsageError
    from jvmti.sources.source import SourceNotFound
    from jvmti.sources.strata import MalformedSourceMap
else:
    __getattr__, __dir__ = reexports(
        __name__,
        {
            "BadProbe": "jvmti.instrumentation.probes",
            "Cancelled": "jvmti.heap.errors",
            "ConditionError": "jvmti.model.debug.conditions",
            "ExpressionError": "jvmti.expressions.errors",
            "FrameGone": "jvmti.model.threads.frames",
            "HeapError": "jvmti.heap.errors",
            "MalformedClassFile": "jvmti.classfile.reading",
            "MalformedSourceMap": "jvmti.sources.strata",
            "NoSuchClass": "jvmti.heap.errors",
            "NoSuchField": "jvmti.heap.errors",
            "NotADump": "jvmti.heap.errors",
            "NotAProfile": "jvmti.profile.errors",
            "NotEnoughMemory": "jvmti.heap.errors",
            "NotEvaluated": "jvmti.shell.expressions",
            "PassOverran": "jvmti.liveheap.passes",
            "PauseTooLong": "jvmti.interface.errors",
            "ProfileError": "jvmti.profile.errors",
            "QueryError": "jvmti.heap.tables.query",
            "ScriptError": "jvmti.agents.script",
            "ScriptFailed": "jvmti.agents.script",
            "SeveralKinds": "jvmti.profile.errors",
            "SourceNotFound": "jvmti.sources.source",
            "TooManyObjects": "jvmti.heap.errors",
            "UsageError": "jvmti.shell.magics",
        },
    )


__all__ = [
    "BadProbe",
    "Cancelled",
    "ConditionError",
    "ExpressionError",
    "FrameGone",
    "HeapError",
    "MalformedClassFile",
    "MalformedSourceMap",
    "NotEnoughMemory",
    "NoSuchClass",
    "NoSuchField",
    "NotADump",
    "NotAProfile",
    "NotEvaluated",
    "PassOverran",
    "PauseTooLong",
    "ProfileError",
    "QueryError",
    "ScriptError",
    "ScriptFailed",
    "SeveralKinds",
    "SourceNotFound",
    "TooManyObjects",
    "UsageError",
]
__all__ += _spec.__all__
__all__ += _target.__all__
