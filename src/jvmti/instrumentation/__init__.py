"""Static instrumentation: puts probes into class files and jars, without a JVM.

`Probe` says where a probe is and which static method it calls, `instrument` writes the class file.
``native/classfile`` does the work; here are its plans and results. What does not live here:
instrumenting classes of a running JVM (`jvmti.tracing`).
"""

from jvmti.instrumentation.library import (
    InsertedProbe,
    Instrumented,
    Instrumenter,
    OmittedProbe,
    instrument,
)
from jvmti.instrumentation.probes import BadProbe, Probe

__all__ = [
    "BadProbe",
    "Instrumented",
    "Instrumenter",
    "OmittedProbe",
    "InsertedProbe",
    "Probe",
    "instrument",
]
