"""Arguments into bytes and bytes into results, compiled once per declaration from its shapes."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any, TypeGuard

from jvmti.deferred import is_boolean, is_scalar, is_whole, numpy
from jvmti.interface import shapes
from jvmti.interface.constants import constant_named
from jvmti.interface.declaration import Declaration
from jvmti.interface.errors import ErrorCode, ForeignHandle, error_for
from jvmti.text import modified_utf8 as text
from jvmti.wire.protocol import LIMITS

U16 = struct.Struct("<H")
U32 = struct.Struct("<I")
I32 = struct.Struct("<i")
U64 = struct.Struct("<Q")

_MOST_CACHED = 1024
"""How many members of an enumeration to cache; there may be many combinations of flags."""

Encoder = Callable[[Any, list[bytes], Any], None]
"""Appends the encoding of a value to a list: (value, parts, session)."""
Decoder = Callable[[Any, int, Any], "tuple[Any, int]"]
"""Reads a value: (buffer, offset, session) to (value, next offset)."""


def handle_of(value: Any, session: Any, shape: shapes.Reference, where: str) -> int:
    """The number of a handle, checked to be of the right kind and of this session.

    Raises:
        TypeError: it is not a handle.
        ForeignHandle: it belongs to another session.
        JvmtiError: it is of another kind (the error of the wanted kind); or it has been released,
            and the shape has no result of its own for that.
    """
    if value is None:
        if shape.nullable:
            return 0
        raise TypeError(f"{where} must be {_article(shape.python.__name__)}, not None")
    if not isinstance(value, shape.python) and not getattr(value, "STANDS_FOR_ANY", False):
        what = f"{where} must be {_article(shape.python.__name__)}, not {type(value).__name__}"
        if hasattr(value, "_handle"):
            raise error_for(int(ErrorCode[shape.python.ERROR]), None, what)
        raise TypeError(what)
    if value._session is not session:
        raise ForeignHandle(
            f"{where} belongs to another session; handles are valid in their own session only"
        )
    number: int = value._handle
    if number == 0 and not shape.answered:
        code = int(ErrorCode[shape.python.ERROR])
        raise error_for(code, None, f"{where} has been released")
    return number


def narrowed(value: Any, dtype: numpy.dtype[Any], where: str) -> numpy.ndarray[Any, Any]:
    """Numbers as an array of one dimension and the given type, each of them intact.

    Integers must fit; floating-point numbers are rounded as in Java.

    Raises:
        TypeError: they are not numbers of that kind.
        ValueError: they are not of one dimension.
        OverflowError: one does not fit.
    """
    array = numpy.asarray(value)
    if array.dtype == dtype and array.ndim == 1:
        return array
    if array.ndim != 1:
        raise ValueError(f"{where} must have one dimension, not {array.ndim}")
    if not array.size:
        return array.astype(dtype) if array.dtype.kind in "biuf" else numpy.empty(0, dtype)
    kinds = {"b": "b", "i": "iu", "u": "iu", "f": "iuf"}[dtype.kind]
    if dtype.kind in "iu" and array.dtype.kind in "fO" and not isinstance(value, numpy.ndarray):
        # Python numbers that have no common integer type in NumPy.
        numbers = list(value)
        if all(map(is_whole, numbers)):
            limits = numpy.iinfo(dtype)
            if all(limits.min <= number <= limits.max for number in numbers):
                return numpy.array(numbers, dtype)
            raise OverflowError(f"{where}: a number does not fit {dtype}")
    if array.dtype.kind not in kinds:
        raise TypeError(f"{where} must hold {dtype}, not {array.dtype}")
    with numpy.errstate(over="ignore"):
        made = array.astype(dtype)
    if dtype.kind == "f":
        intact = numpy.array_equal(numpy.isinf(made), numpy.isinf(array))
    else:
        # Back again, because signed and unsigned do not compare in one type.
        intact = numpy.array_equal(made.astype(array.dtype), array) and numpy.array_equal(
            made < 0, array < 0
        )
    if not intact:
        raise OverflowError(f"{where}: a number does not fit {dtype}")
    return made


def _size_of(data: bytes, where: str) -> bytes:
    if len(data) > LIMITS.REQUEST:
        raise ValueError(
            f"{where}: {len(data)} bytes; a request takes at most {LIMITS.REQUEST}, so do it in "
            "parts"
        )
    return U32.pack(len(data))


def _article(name: str) -> str:
    return f"{'an' if name[0] in 'AEIOU' else 'a'} {name}"


def encoder_of(shape: shapes.Shape, where: str) -> Encoder:
    """How values of a shape are encoded; ``where`` names the parameter in errors."""
    match shape:
        case shapes.Number(c, code, presented):
            return _number_encoder(c, code, presented, where)
        case shapes.Reference():
            reference = shape

            def put_handle(value: Any, parts: list[bytes], session: Any) -> None:
                parts.append(U64.pack(handle_of(value, session, reference, where)))

            return put_handle
        case shapes.Text(nullable):

            def put_text(value: Any, parts: list[bytes], session: Any) -> None:
                if value is None and nullable:
                    parts.append(b"\xff\xff\xff\xff")
                    return
                if not isinstance(value, str):
                    raise TypeError(f"{where} must be str, not {type(value).__name__}")
                data = text.encode(value)
                parts.append(I32.pack(len(data)) + data + b"\x00")

            return put_text
        case shapes.Unicode():

            def put_unicode(value: Any, parts: list[bytes], session: Any) -> None:
                if not isinstance(value, str):
                    raise TypeError(f"{where} must be str, not {type(value).__name__}")
                data = value.encode("utf-16-le", "surrogatepass")
                parts.append(_size_of(data, where) + data)

            return put_unicode
        case shapes.Bytes():

            def put_bytes(value: Any, parts: list[bytes], session: Any) -> None:
                if not isinstance(value, bytes | bytearray | memoryview):
                    raise TypeError(f"{where} must be bytes, not {type(value).__name__}")
                data = bytes(value)
                parts.append(_size_of(data, where) + data)

            return put_bytes
        case shapes.ElementBlock(c, _):
            code = shapes.ELEMENT_CODES[c]

            def put_elements(value: Any, parts: list[bytes], session: Any) -> None:
                data = narrowed(value, numpy.dtype(code), where).tobytes()
                parts.append(_size_of(data, where) + data)

            return put_elements
        case shapes.Arguments():
            return _arguments_encoder(where)
        case shapes.Token():

            def put_token(value: Any, parts: list[bytes], session: Any) -> None:
                parts.append(U64.pack(session.store(value)))

            return put_token
        case shapes.Callback():

            def put_callback(value: Any, parts: list[bytes], session: Any) -> None:
                parts.append(bytes((int(value or 0),)))

            return put_callback
        case shapes.CapabilitySet(python):

            def put_capabilities(value: Any, parts: list[bytes], session: Any) -> None:
                parts.append(U64.pack(int(python.of(value))))

            return put_capabilities
        case shapes.List(item, _, _):
            put_item = encoder_of(item, f"an item of {where}")

            def put_list(value: Any, parts: list[bytes], session: Any) -> None:
                if not isinstance(value, Sequence) or isinstance(value, str | bytes):
                    try:
                        if isinstance(value, str):
                            raise TypeError  # its items would be text again, but never meant
                        value = list(value)
                    except TypeError:
                        raise TypeError(
                            f"{where} must be a sequence, not {type(value).__name__}"
                        ) from None
                inner: list[bytes] = []
                for one in value:
                    put_item(one, inner, session)
                # Numbers are counted in bytes, everything else in items.
                size = sum(map(len, inner)) if isinstance(item, shapes.Number) else len(value)
                parts.append(U32.pack(size))
                parts.extend(inner)

            return put_list
        case shapes.Structure(python, _, fields):
            encoders = [(name, encoder_of(field, f"{where}.{name}")) for name, field in fields]

            def put_structure(value: Any, parts: list[bytes], session: Any) -> None:
                if not isinstance(value, python):
                    raise TypeError(
                        f"{where} must be {_article(python.__name__)}, not {type(value).__name__}"
                    )
                for name, put in encoders:
                    put(getattr(value, name), parts, session)

            return put_structure
    raise TypeError(f"{where}: {shape} cannot be an input")


def _number_encoder(c: str, code: str, python: Any, where: str) -> Encoder:
    packed = struct.Struct(f"<{code}")
    floating = code in "fd"

    def put_number(value: Any, parts: list[bytes], session: Any) -> None:
        try:
            parts.append(packed.pack(value))
        except (struct.error, OverflowError) as error:
            if is_whole(value) or (floating and _is_float(value)):
                raise OverflowError(f"{where}: {value!r} does not fit {c}") from None
            if isinstance(value, str) and python is not None and hasattr(python, "__prefix__"):
                parts.append(packed.pack(constant_named(python, value)))
                return
            if c == "jchar" and isinstance(value, str) and len(value) == 1 and value <= "\uffff":
                parts.append(packed.pack(ord(value)))
                return
            wanted = "a number" if floating else "an integer"
            if c == "jchar":
                wanted = "a character, as text of one UTF-16 unit or its number"
            if python is not None:
                wanted = _article(python.__name__)
            raise TypeError(f"{where} must be {wanted}, not {type(value).__name__}") from error

    if code != "?":
        return put_number

    def put_boolean(value: Any, parts: list[bytes], session: Any) -> None:
        if not (is_whole(value) and value in (0, 1)) and not is_boolean(value):
            raise TypeError(f"{where} must be bool, not {type(value).__name__}")
        parts.append(b"\x01" if value else b"\x00")

    return put_boolean


def _is_float(value: object) -> TypeGuard[float]:
    """Whether it is a floating-point number of Python or NumPy."""
    return isinstance(value, float) or (is_scalar(value) and isinstance(value, numpy.floating))


def _arguments_encoder(where: str) -> Encoder:
    def put_arguments(value: Any, parts: list[bytes], session: Any) -> None:
        if isinstance(value, str | bytes) or not isinstance(value, Sequence):
            raise TypeError(f"{where} must be a sequence of arguments")
        parts.append(U32.pack(len(value)))
        for number, one in enumerate(value, 1):
            if one is None:
                parts.append(b"L" + bytes(8))
            elif is_boolean(one):
                parts.append(b"J" + I64.pack(int(one)))
            elif is_whole(one):
                try:
                    parts.append(b"J" + I64.pack(int(one)))
                except struct.error:
                    raise OverflowError(
                        f"argument {number}: {one} does not fit a Java long"
                    ) from None
            elif _is_float(one):
                parts.append(b"D" + F64.pack(float(one)))
            elif hasattr(one, "_handle"):
                reference = shapes.Reference(type(one))
                parts.append(
                    b"L" + U64.pack(handle_of(one, session, reference, f"argument {number}"))
                )
            elif isinstance(one, str) and len(one) == 1:
                parts.append(b"J" + I64.pack(ord(one)))
            else:
                raise TypeError(
                    f"argument {number}: {type(one).__name__} is not a type that JNI can pass; "
                    "make a Java object of it first (new_string for text)"
                )

    return put_arguments


I64 = struct.Struct("<q")
F64 = struct.Struct("<d")


def decoder_of(shape: shapes.Shape) -> Decoder:
    """How values of a shape are read."""
    match shape:
        case shapes.Number("jchar"):

            def get_character(buffer: Any, at: int, session: Any) -> tuple[Any, int]:
                return chr(U16.unpack_from(buffer, at)[0]), at + 2

            return get_character
        case shapes.Number(_, code, presented):
            packed = struct.Struct(f"<{code}")
            size = packed.size
            unpack = packed.unpack_from
            if presented is None:

                def get_number(buffer: Any, at: int, session: Any) -> tuple[Any, int]:
                    return unpack(buffer, at)[0], at + size

                return get_number
            present = presenter_of(presented)

            def get_constant(buffer: Any, at: int, session: Any) -> tuple[Any, int]:
                return present(unpack(buffer, at)[0]), at + size

            return get_constant
        case shapes.Reference():

            def get_handle(buffer: Any, at: int, session: Any) -> tuple[Any, int]:
                number = U64.unpack_from(buffer, at)[0]
                return (session.wrap(number) if number else None), at + 8

            return get_handle
        case shapes.Text():

            def get_text(buffer: Any, at: int, session: Any) -> tuple[Any, int]:
                length = I32.unpack_from(buffer, at)[0]
                at += 4
                if length < 0:
                    return None, at
                return text.decode(bytes(buffer[at : at + length])), at + length

            return get_text
        case shapes.Unicode():

            def get_unicode(buffer: Any, at: int, session: Any) -> tuple[Any, int]:
                length = I32.unpack_from(buffer, at)[0]
                at += 4
                data = bytes(buffer[at : at + length])
                return data.decode("utf-16-le", "surrogatepass"), at + length

            return get_unicode
        case shapes.Bytes():

            def get_bytes(buffer: Any, at: int, session: Any) -> tuple[Any, int]:
                length = I32.unpack_from(buffer, at)[0]
                at += 4
                end = at + length if length > 0 else at
                return bytes(buffer[at:end]), end

            return get_bytes
        case shapes.ElementBlock(c, _):
            code = shapes.ELEMENT_CODES[c]

            def get_elements(buffer: Any, at: int, session: Any) -> tuple[Any, int]:
                length = max(I32.unpack_from(buffer, at)[0], 0)
                at += 4
                data = bytearray(buffer[at : at + length])
                return numpy.frombuffer(data, code), at + length

            return get_elements
        case shapes.Token():

            def get_token(buffer: Any, at: int, session: Any) -> tuple[Any, int]:
                return session.stored(U64.unpack_from(buffer, at)[0]), at + 8

            return get_token
        case shapes.CapabilitySet(python):

            def get_capabilities(buffer: Any, at: int, session: Any) -> tuple[Any, int]:
                return python(U64.unpack_from(buffer, at)[0]), at + 8

            return get_capabilities
        case shapes.Pointer():

            def get_pointer(buffer: Any, at: int, session: Any) -> tuple[Any, int]:
                return U64.unpack_from(buffer, at)[0], at + 8

            return get_pointer
        case shapes.Letter():

            def get_letter(buffer: Any, at: int, session: Any) -> tuple[Any, int]:
                return chr(buffer[at]), at + 1

            return get_letter
        case shapes.Value():
            return get_value
        case shapes.Inlining(item):
            return decoder_of(shapes.List(item))
        case shapes.List(shapes.Reference(), _, _):

            def get_handles(buffer: Any, at: int, session: Any) -> tuple[Any, int]:
                count = I32.unpack_from(buffer, at)[0]
                at += 4
                if count <= 0:
                    return [], at
                numbers = struct.unpack_from(f"<{count}Q", buffer, at)
                return session.wrap_all(numbers), at + 8 * count

            return get_handles
        case shapes.List(shapes.Number(c, code, None), _, _) if c != "jchar":

            def get_numbers(buffer: Any, at: int, session: Any) -> tuple[Any, int]:
                count = max(I32.unpack_from(buffer, at)[0], 0)
                at += 4
                numbers = struct.Struct(f"<{count}{code}")
                return [*numbers.unpack_from(buffer, at)], at + numbers.size

            return get_numbers
        case shapes.List(item, _, _):
            get_item = decoder_of(item)

            def get_list(buffer: Any, at: int, session: Any) -> tuple[Any, int]:
                count = I32.unpack_from(buffer, at)[0]
                at += 4
                items = []
                for _ in range(count):
                    one, at = get_item(buffer, at, session)
                    items.append(one)
                return items, at

            return get_list
        case shapes.Structure(python, _, fields):
            return _structure_decoder(python, [decoder_of(field) for _, field in fields])
    raise TypeError(f"{shape} cannot be a result")


def get_value(buffer: Any, at: int, session: Any) -> tuple[Any, int]:
    """Read a value of any Java type: its type character and eight bytes."""
    letter = buffer[at]
    at += 1
    if letter == 76:  # L
        number = U64.unpack_from(buffer, at)[0]
        return (session.wrap(number) if number else None), at + 8
    if letter in b"DF":
        return F64.unpack_from(buffer, at)[0], at + 8
    if letter == 86:  # V
        return None, at + 8
    whole = I64.unpack_from(buffer, at)[0]
    if letter == 90:  # Z
        return bool(whole), at + 8
    if letter == 67:  # C
        return chr(whole), at + 8
    return whole, at + 8


def _structure_decoder(python: Any, decoders: list[Decoder]) -> Decoder:
    if len(decoders) == 2:
        get_first, get_second = decoders

        def get_pair(buffer: Any, at: int, session: Any) -> tuple[Any, int]:
            first, at = get_first(buffer, at, session)
            second, at = get_second(buffer, at, session)
            return python(first, second), at

        return get_pair

    def get_structure(buffer: Any, at: int, session: Any) -> tuple[Any, int]:
        values = []
        for get in decoders:
            value, at = get(buffer, at, session)
            values.append(value)
        return python(*values), at

    return get_structure


def presenter_of(python: Any) -> Callable[[int], Any]:
    """Numbers as members of an enumeration; an unknown one stays a number."""
    # An enumeration takes longer to find a member than a whole message takes to be decoded.
    cached: dict[int, Any] = {}

    def present(number: int) -> Any:
        try:
            return cached[number]
        except KeyError:
            pass
        try:
            member = python(number)
        except ValueError:
            return number
        if len(cached) < _MOST_CACHED:
            cached[number] = member
        return member

    return present


class Codec:
    """The compiled codec of one declaration."""

    __slots__ = ("decode", "declaration", "encode", "encoders", "inputs", "results")

    def __init__(self, declaration: Declaration) -> None:
        self.declaration = declaration
        self.inputs = shapes.inputs_of(declaration)
        self.results = shapes.results_of(declaration)
        self.encoders = [
            encoder_of(shape, f"{declaration.name}() argument {name}")
            for name, shape in self.inputs
        ]
        self.encode = self._encode_all() if len(self.encoders) != 1 else self._encode_one()
        self.decode = self._decoder()

    def _encode_one(self) -> Callable[[Any, tuple[Any, ...]], bytes]:
        put = self.encoders[0]

        def encode(session: Any, arguments: tuple[Any, ...]) -> bytes:
            parts: list[bytes] = []
            put(arguments[0], parts, session)
            return parts[0] if len(parts) == 1 else b"".join(parts)

        return encode

    def _encode_all(self) -> Callable[[Any, tuple[Any, ...]], bytes]:
        encoders = self.encoders

        def encode(session: Any, arguments: tuple[Any, ...]) -> bytes:
            parts: list[bytes] = []
            for put, value in zip(encoders, arguments, strict=True):
                put(value, parts, session)
            return b"".join(parts)

        return encode

    def _decoder(self) -> Callable[[Any, Any], Any]:
        decoders = [decoder_of(shape) for _, shape in self.results]
        if not decoders:
            return lambda buffer, session: None
        result = self.declaration.result
        if shapes.is_named_tuple(result):
            get = _structure_decoder(result, decoders)
        else:
            get = decoders[0]

        def decode(buffer: Any, session: Any) -> Any:
            return get(buffer, 0, session)[0]

        return decode


def codec_of(declaration: Declaration) -> Codec:
    """The codec of a declaration, compiled at its first use."""
    codec = declaration.codec
    if codec is None:
        codec = declaration.codec = Codec(declaration)
    return codec  # type: ignore[no-any-return]
