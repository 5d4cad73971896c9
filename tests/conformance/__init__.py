"""Conformance: every function of JVM TI and JNI, with right results and with each of its errors.

One module of tests for each chapter of the specification, named after its module in
``src/jvmti/env`` or, with ``test_jni_`` in front, in ``src/jvmti/jni``; what follows from the
declarations alone is in ``test_errors_by_declaration``.  A test says what it shows through the
fixture `evidence`; ``pairs`` tells what there is to show, ``unprovoked`` what cannot be and why,
and ``scripts/conformance_page.py`` writes ``docs/conformance.md`` of it.
"""
