"""A sample of the jars whose classes scripts/verify_jars.py gives probes."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

import jars
import jvms
from instrumentation import verification

sys.path.append(str(jvms.ROOT / "scripts"))

import verify_jars

SAMPLE = {
    # Old code without frames, and the servlet classes that it names are not there.
    jars.JXPATH: 160,
    jars.CONCURRENT: 100,
    # Constructors that call another one in each case of a switch.
    jars.GROOVY: 1500,
}


@pytest.mark.slow
@pytest.mark.on("17")
@pytest.mark.timeout(400)
@pytest.mark.parametrize("name", SAMPLE)
def test_the_verifier_takes_the_classes_of_a_jar_with_every_kind_of_probe(
    jvm: jvms.Jvm, name: str
) -> None:
    assert name in verify_jars.listed()
    found = verification.run(jvm, jars.fetched(name), verification.EVERYTHING)
    assert found.failed == {}
    assert found.classes >= SAMPLE[name]


STOPPED = {
    # Their tables of variables name some that not every way to the place has assigned.
    jars.AVALON: 60,
    # They say that the receiver is an Object.
    jars.CLOJURESCRIPT: 2600,
    # They name variables before they have a value, and what is in a Reference.
    jars.GROOVY: 1500,
}


@pytest.mark.slow
@pytest.mark.on("17")
@pytest.mark.parametrize("name", STOPPED)
def test_threads_stop_in_code_without_frames(
    jvm: jvms.Jvm, name: str, rounds: Callable[[int, int], int]
) -> None:
    """Its tables of variables are not to be trusted.

    One compiler made all of a large jar, in one way: a third of its classes shows what it does.
    """
    beside = jars.fetched(jars.CLOJURE)
    every = 1 if STOPPED[name] < 1000 else rounds(3, 1)
    found = verification.run(
        jvm, jars.fetched(name), verification.STOPPING, beside=beside, every=every
    )
    assert found.failed == {}
    assert found.classes >= STOPPED[name] // every


@pytest.mark.slow
@pytest.mark.on("21")
@pytest.mark.timeout(400)
def test_large_methods_without_frames_need_no_class_that_is_not_there(
    jvm: jvms.Jvm, rounds: Callable[[int, int], int]
) -> None:
    """Their calls pass objects of the Closure compiler, which is not there, by the hundred."""
    both = jars.fetched(jars.CLOJURESCRIPT, jars.CLOJURE)
    every = rounds(3, 1)
    found = verification.run(jvm, both[:1], verification.EVERYTHING, beside=both, every=every)
    assert found.failed == {}
    assert found.classes >= 2600 // every


def test_the_list_names_each_jar_once() -> None:
    names = verify_jars.listed()
    assert len(names) == len(set(names)) >= 300
    assert all(len(name.split(":")) == 3 for name in names)
