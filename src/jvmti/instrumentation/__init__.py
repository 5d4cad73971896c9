"""Static instrumentation: puts probes into class files and jars, without a JVM.

`Probe` says where a probe is and which static method it calls, `instrument` writes the class file.
The work is done by ``native/classfile``; here are its plans and what comes back.  Instrumenting
the classes of a running JVM does not live here.
"""

from jvmti.instrumentation.library import (
    Instrumented,
    Instrumenter,
    OmittedProbe,
    PlacedProbe,
    instrument,
)
from jvmti.instrumentation.probes import BadProbe, Probe

__all__ = [
    "BadProbe",
    "Instrumented",
    "Instrumenter",
    "OmittedProbe",
    "PlacedProbe",
    "Probe",
    "instrument",
]
