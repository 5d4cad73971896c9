"""Says which versions meet: the JVM's, its JVM TI, and what this package knows of.

    jvmti run version_check.py -- java -jar app.jar
    jvmti run version_check.py=21 -- java -jar app.jar     (only with Java 21 or later)

The C agent of this name compares the header that it was compiled with to the JVM that it is in.
"""

import jvmti


def agent_onload(vm, options):
    major, minor, micro = vm.version
    properties = vm.env.get_system_properties()
    print(f"JVM TI {major}.{minor}.{micro}, JNI {jni(vm)}, package jvmti {jvmti.__version__}")
    for name in ("java.vm.name", "java.vm.version"):
        if name in properties:
            print(f"{name} = {vm.env.get_system_property(name)}")
    if options and major < int(options):
        # What agent_onload raises keeps the JVM from starting.
        raise SystemExit(f"JVM TI {options} or later is wanted")


def jni(vm):
    # There is no JNI yet when an agent is loaded; its version goes with that of the VM.
    return "not yet" if vm.held else f"{vm.jni.get_version() >> 16}"
