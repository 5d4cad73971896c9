"""Modules that are imported at their first use."""

from __future__ import annotations

import subprocess
import sys

import numpy

from jvmti.deferred import is_array, is_boolean, is_scalar, is_whole


def _run(program: str) -> str:
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    return ended.stdout


def test_numpy_is_imported_when_it_is_used() -> None:
    said = _run(
        "import sys\n"
        "from jvmti.deferred import is_array, is_boolean, is_scalar, is_whole, numpy\n"
        "print(is_array([1]), is_scalar(1), is_whole(1), is_boolean(True))\n"
        "print('numpy' in sys.modules)\n"
        "print(numpy.arange(3).sum(), 'numpy' in sys.modules)\n"
        "print(numpy.arange is sys.modules['numpy'].arange)\n"
    )
    assert said.split() == "False False True True False 3 True True".split()


def test_values_of_numpy_are_known() -> None:
    assert is_array(numpy.arange(3))
    assert not is_array(numpy.int8(1))
    assert is_scalar(numpy.float32(1))
    assert not is_scalar(1.0)
    assert is_whole(numpy.uint8(1))
    assert is_whole(True)
    assert not is_whole(numpy.float64(1))
    assert not is_whole(numpy.bool_(True))
    assert is_boolean(numpy.bool_(True))
    assert not is_boolean(numpy.int8(1))


def test_ctrl_c_leaves_no_half_of_numpy() -> None:
    """The import of its extension fails for good where an exception leaves it."""
    said = _run(
        "import os, signal, sys\n"
        "from jvmti.deferred import numpy\n"
        "class Finder:\n"
        "    def find_spec(self, name, *more):\n"
        "        if name == 'numpy.lib':\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Finder())\n"
        "try:\n"
        "    numpy.arange(3)\n"
        "except KeyboardInterrupt:\n"
        "    print('interrupted')\n"
        "print(numpy.arange(3).sum())\n"
    )
    assert said == "interrupted\n3\n"
