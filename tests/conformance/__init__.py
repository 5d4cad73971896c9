"""Conformance: every function of JVM TI and JNI, with right results and with each of its errors.

One module of tests for each chapter of the specification, named after its module: in folders by
subject as in ``src/jvmti/env``, and in ``jni``.  Errors that follow from the declarations alone are
in ``test_errors_by_declaration``.  A test reports what it shows through the fixture `evidence`;
``pairs`` lists what there is to show, ``unprovoked`` what cannot be shown and why, and
``scripts/conformance_page.py`` writes ``docs/conformance.md`` from it.
"""
