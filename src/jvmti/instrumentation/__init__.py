"""Static instrumentation: puts probes into class files and jars, without a JVM.

`Probe` says where a probe is and which static method it calls, `instrument` writes the class file.
``native/classfile`` does the work; here are its plans and results. What does not live here:
instrumenting classes of a running JVM (`jvmti.tracing`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jvmti.reexports import reexports

if TYPE_CHECKING:
    from jvmti.instrumentation.library import (
        InsertedProbe,
        Instrumented,
        Instrumenter,
        OmittedProbe,
        instrument,
    )
    from jvmti.instrumentation.probes import BadProbe, Probe
else:
    __getattr__, __dir__ = reexports(
        __name__,
        {
            "BadProbe": "jvmti.instrumentation.probes",
            "InsertedProbe": "jvmti.instrumentation.library",
            "Instrumented": "jvmti.instrumentation.library",
            "Instrumenter": "jvmti.instrumentation.library",
            "OmittedProbe": "jvmti.instrumentation.library",
            "Probe": "jvmti.instrumentation.probes",
            "instrument": "jvmti.instrumentation.library",
        },
    )


__all__ = [
    "BadProbe",
    "Instrumented",
    "Instrumenter",
    "OmittedProbe",
    "InsertedProbe",
    "Probe",
    "instrument",
]
