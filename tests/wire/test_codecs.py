"""Values on their way between Python and the agent: text, numbers, and what is refused."""

from __future__ import annotations

import random
import struct
from typing import Any

import numpy
import pytest

from jvmti.env.interface import FUNCTIONS as ENV
from jvmti.interface import shapes
from jvmti.jni.interface import FUNCTIONS as JNI
from jvmti.text import modified_utf8 as text
from jvmti.wire.codecs import codec_of, decoder_of, encoder_of, narrowed


def modified_utf8(string: str) -> bytes:
    """The specification's three cases, unit by unit."""
    units = string.encode("utf-16-le", "surrogatepass")
    out = bytearray()
    for (unit,) in struct.iter_unpack("<H", units):
        if 0 < unit < 0x80:
            out.append(unit)
        elif unit < 0x800:
            out += bytes((0xC0 | unit >> 6, 0x80 | unit & 0x3F))
        else:
            out += bytes((0xE0 | unit >> 12, 0x80 | unit >> 6 & 0x3F, 0x80 | unit & 0x3F))
    return bytes(out)


EDGES = "\0\x01\x7f\x80\u07ff\u0800\uffff\U00010000\U0010ffff\ud800\udbff\udc00\udfff\ud7ff\ue000a"


@pytest.mark.parametrize("character", EDGES, ids=lambda c: f"{ord(c):x}")
def test_every_kind_of_character_is_spelled_as_the_vm_does(character: str) -> None:
    for string in (character, f"a{character}b", character * 3):
        assert text.encode(string) == modified_utf8(string)
        assert 0 not in text.encode(string)
        decoded = text.decode(text.encode(string))
        assert decoded.encode("utf-16-le", "surrogatepass") == string.encode(
            "utf-16-le", "surrogatepass"
        )


def test_random_text_survives_both_ways() -> None:
    choice = random.Random(4)
    for _ in range(2_000):
        string = "".join(choice.choices(EDGES, k=choice.randrange(12)))
        # Two lone surrogates side by side are one character to Java.
        whole = string.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
        assert text.encode(string) == modified_utf8(string)
        assert text.decode(text.encode(string)) == whole


@pytest.mark.parametrize(
    "malformed", [b"\xff", b"a\x80", b"\xc3", b"\xe2\x82", b"\xf0\x9f\x98\x80", b"\xc0\xff"]
)
def test_malformed_text_from_the_vm_is_replaced_not_refused(malformed: bytes) -> None:
    decoded = text.decode(b"name " + malformed + b" end")
    assert decoded.startswith("name ")
    assert decoded.endswith(" end")


# ---- numbers ---------------------------------------------------------------------------------

RANGES = {
    "jbyte": ("b", -(2**7), 2**7 - 1),
    "jchar": ("H", 0, 2**16 - 1),
    "jshort": ("h", -(2**15), 2**15 - 1),
    "jint": ("i", -(2**31), 2**31 - 1),
    "jlong": ("q", -(2**63), 2**63 - 1),
}


def encoded(shape: shapes.Shape, value: Any) -> bytes:
    parts: list[bytes] = []
    encoder_of(shape, "the argument")(value, parts, None)
    return b"".join(parts)


@pytest.mark.parametrize("c", RANGES)
def test_integers_fit_or_are_refused(c: str) -> None:
    code, least, most = RANGES[c]
    shape = shapes.Number(c, code)
    for number in (least, 0, 1, most):
        data = encoded(shape, number)
        reported = chr(number) if c == "jchar" else number
        assert decoder_of(shape)(data, 0, None) == (reported, struct.calcsize(code))
        assert c != "jchar" or encoded(shape, reported) == data
        assert encoded(shape, numpy.int64(number)) == data
    for number in (least - 1, most + 1, 2**100, -(2**100)):
        with pytest.raises(OverflowError, match=f"the argument: .* does not fit {c}"):
            encoded(shape, number)
    if c != "jlong":
        with pytest.raises(OverflowError, match="does not fit"):
            encoded(shape, numpy.int64(most + 1))
    wanted = (
        "a character, as text of one UTF-16 unit or its number" if c == "jchar" else "an integer"
    )
    for wrong in (1.0, numpy.float64(1), "10", "😀", "", None, [1], b"1", 1j):
        with pytest.raises(TypeError, match=f"the argument must be {wanted}, not"):
            encoded(shape, wrong)


@pytest.mark.parametrize(("c", "code"), [("jfloat", "f"), ("jdouble", "d")])
def test_floating_point_numbers_are_kept_in_their_width(c: str, code: str) -> None:
    shape = shapes.Number(c, code)
    for number in (0.0, -0.0, 1.5, float("inf"), float("-inf"), 7, True):
        assert encoded(shape, number) == struct.pack(f"<{code}", number)
    assert encoded(shape, numpy.float32(0.25)) == struct.pack(f"<{code}", 0.25)
    got, _ = decoder_of(shape)(encoded(shape, float("nan")), 0, None)
    assert got != got
    for number in (10**400, *([1e39] if code == "f" else [])):
        with pytest.raises(OverflowError, match=f"does not fit {c}"):
            encoded(shape, number)
    for wrong in ("1.0", None, [1.0], 1j):
        with pytest.raises(TypeError, match="the argument must be a number, not"):
            encoded(shape, wrong)


def test_booleans_are_true_false_one_or_zero() -> None:
    shape = shapes.Number("jboolean", "?")
    for truth in (True, 1, numpy.bool_(True), numpy.int8(1)):
        assert encoded(shape, truth) == b"\x01"
    for untruth in (False, 0, numpy.bool_(False)):
        assert encoded(shape, untruth) == b"\x00"
    wrong: Any
    for wrong in (2, -1, 1.0, None, "yes", [], numpy.array([1, 0])):
        with pytest.raises(TypeError, match="the argument must be bool, not"):
            encoded(shape, wrong)


# ---- blocks ----------------------------------------------------------------------------------


def test_numbers_become_arrays_only_when_each_stays_what_it_is() -> None:
    assert narrowed([1, 2], numpy.dtype("i1"), "x").tolist() == [1, 2]
    assert narrowed(range(3), numpy.dtype("u2"), "x").tolist() == [0, 1, 2]
    assert narrowed([], numpy.dtype("i4"), "x").size == 0
    assert narrowed([-1, 2**63 - 1], numpy.dtype("i8"), "x").tolist() == [-1, 2**63 - 1]
    assert narrowed([1, 2**64 - 1], numpy.dtype("u8"), "x").tolist() == [1, 2**64 - 1]
    assert narrowed(numpy.array([1, 2], ">i8"), numpy.dtype("i4"), "x").tolist() == [1, 2]
    assert narrowed(numpy.arange(6)[::2], numpy.dtype("f4"), "x").tolist() == [0, 2, 4]
    assert numpy.isnan(narrowed([float("nan")], numpy.dtype("f4"), "x")).all()
    assert narrowed([0.1], numpy.dtype("f4"), "x").tolist() == [numpy.float32(0.1)]
    value: Any
    for value, dtype in (
        ([128], "i1"),
        ([-1], "u2"),
        ([-1], "u8"),
        ([2**63], "i8"),
        ([0, 2**63], "i8"),
        ([2**70], "i8"),
        (numpy.array([2**63], "u8"), "i8"),
        ([1e39], "f4"),
    ):
        with pytest.raises(OverflowError, match="x: a number does not fit"):
            narrowed(value, numpy.dtype(dtype), "x")
    for value, dtype in (
        ([1.0], "i4"),
        (["1"], "i4"),
        ([None], "i4"),
        ([1], "?"),
        ([True], "i4"),
        (numpy.array([1.0]), "i8"),
        ([1j], "f8"),
    ):
        with pytest.raises(TypeError, match="x must hold"):
            narrowed(value, numpy.dtype(dtype), "x")
    for value in (numpy.zeros((2, 2), "i4"), 1, [[1], [2]]):
        with pytest.raises(ValueError, match="one dimension"):
            narrowed(value, numpy.dtype("i4"), "x")


def test_bytes_are_any_buffer_of_bytes_and_no_text() -> None:
    shape = shapes.Bytes()
    for data in (b"abc", bytearray(b"abc"), memoryview(b"abc")):
        assert encoded(shape, data) == struct.pack("<I", 3) + b"abc"
    wide = memoryview(numpy.array([1, 2], "<u4").data)
    assert encoded(shape, wide) == struct.pack("<I2I", 8, 1, 2)
    for wrong in ("abc", [1, 2], None, 3):
        with pytest.raises(TypeError, match="must be bytes, not"):
            encoded(shape, wrong)


def test_lists_are_sequences_and_no_text() -> None:
    shape = shapes.List(shapes.Text())
    one = struct.pack("<i", 1) + b"a\0"
    assert encoded(shape, ["a"]) == struct.pack("<I", 1) + one
    assert encoded(shape, ("a", "a")) == struct.pack("<I", 2) + one * 2
    assert encoded(shape, iter(["a"])) == struct.pack("<I", 1) + one
    for wrong in ("a", 1, None):
        with pytest.raises(TypeError, match="must be a sequence, not"):
            encoded(shape, wrong)
    with pytest.raises(TypeError, match="an item of the argument must be str, not int"):
        encoded(shape, ["a", 1])


def test_more_than_a_request_takes_is_refused_before_it_is_sent() -> None:
    with pytest.raises(ValueError, match="a request takes at most"):
        narrow = numpy.broadcast_to(numpy.int8(0), (65 << 20,))
        encoded(shapes.ElementBlock("jbyte"), narrow)
    with pytest.raises(ValueError, match="do it in parts"):
        encoded(shapes.Bytes(), bytes(65 << 20))
    with pytest.raises(ValueError, match="do it in parts"):
        encoded(shapes.Unicode(), "x" * (33 << 20))


def test_errors_name_the_function_and_the_parameter() -> None:
    codec = codec_of(JNI["ensure_local_capacity"])
    with pytest.raises(OverflowError, match=r"ensure_local_capacity\(\) argument capacity"):
        codec.encode(None, (2**31,))
    codec = codec_of(JNI["find_class"])
    with pytest.raises(TypeError, match=r"find_class\(\) argument name must be str, not bytes"):
        codec.encode(None, (b"java/lang/String",))


@pytest.mark.parametrize(
    ("table", "name"),
    [
        (table, name)
        for table, functions in (("env", ENV), ("jni", JNI))
        for name, declaration in functions.items()
        if not declaration.callback
    ],
)
def test_every_declared_function_refuses_nonsense_by_name(table: str, name: str) -> None:
    declaration = (ENV if table == "env" else JNI)[name]
    codec = codec_of(declaration)

    class Nonsense:
        pass

    for position, (parameter, shape) in enumerate(codec.inputs):
        if isinstance(shape, shapes.Token):
            continue  # any object will do
        with pytest.raises((TypeError, ValueError)) as refused:
            codec.encoders[position](Nonsense(), [], None)
        if not isinstance(shape, shapes.Arguments | shapes.CapabilitySet):
            assert f"{name}()" in str(refused.value)
            assert parameter in str(refused.value)
