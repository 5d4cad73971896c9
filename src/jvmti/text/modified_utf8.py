"""Modified UTF-8: the VM's encoding of C strings.

It differs from UTF-8 in two places: U+0000 takes two bytes, so that no byte is zero, and a
character outside the basic plane is written as its two surrogates, three bytes each.
"""

from __future__ import annotations


def encode(text: str) -> bytes:
    """The modified UTF-8 of a string; lone surrogates are kept, as Java keeps them."""
    if not text.isascii():
        text = "".join(
            character if character <= "\uffff" else _pair(ord(character)) for character in text
        )
    return text.encode("utf-8", "surrogatepass").replace(b"\x00", b"\xc0\x80")


def _pair(code: int) -> str:
    code -= 0x10000
    return chr(0xD800 | code >> 10) + chr(0xDC00 | code & 0x3FF)


def decode(data: bytes) -> str:
    """The string behind modified UTF-8; pairs of surrogates become one character.

    Replaces malformed bytes, which a VM may return for names from broken class files; never fails.
    """
    if data.isascii():
        return data.decode("ascii")
    data = data.replace(b"\xc0\x80", b"\x00")
    try:
        text = data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace")
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
