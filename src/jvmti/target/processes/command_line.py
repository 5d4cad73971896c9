"""Parses a ``java`` command line: VM arguments, main class or jar, program arguments.

java -cp a.jar -Xmx1g com.acme.Main --port 80
     └──── VM ──────┘ └── main ──┘ └─ program ┘
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from jvmti.interface.frozen import frozen

__all__ = ["CommandLine", "parse", "split_argument_file"]

# Options of the launcher whose value is the next word.
_TAKES_VALUE = frozenset(
    {
        "-cp",
        "-classpath",
        "--class-path",
        "-p",
        "--module-path",
        "--upgrade-module-path",
        "--add-modules",
        "--limit-modules",
        "--add-exports",
        "--add-opens",
        "--add-reads",
        "--patch-module",
        "--enable-native-access",
        "--illegal-native-access",
        "--sun-misc-unsafe-memory-access",
        "--describe-module",
        "-d",
        "--source",
    }
)
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "f": "\f"}
_MAIN_OPTIONS = frozenset({"-jar", "-m", "--module"})


@frozen
class CommandLine:
    """The parts of a command line; ``main`` is empty if there is none or it is hidden.

    ``complete`` is False when an argument file could not be read.
    """

    jvm_arguments: tuple[str, ...]
    main: str
    arguments: tuple[str, ...]
    complete: bool


def parse(words: Sequence[str], read: Callable[[str], str | None] | None = None) -> CommandLine:
    """Parse the words after the name of the launcher.

    ``read`` returns the text of an argument file (``@file``), None if it cannot.
    """
    expanded, complete = _expand(words, read)
    jvm: list[str] = []
    at = 0
    while at < len(expanded):
        word = expanded[at]
        if word in _MAIN_OPTIONS:
            main = expanded[at + 1] if at + 1 < len(expanded) else ""
            return CommandLine(tuple(jvm), main, tuple(expanded[at + 2 :]), complete)
        if word.startswith("--module="):
            main = word.partition("=")[2]
            return CommandLine(tuple(jvm), main, tuple(expanded[at + 1 :]), complete)
        if not word.startswith("-"):
            if word.startswith("@") and not complete:
                jvm.append(word)
                at += 1
                continue
            return CommandLine(tuple(jvm), word, tuple(expanded[at + 1 :]), complete)
        jvm.append(word)
        at += 1
        if word in _TAKES_VALUE and at < len(expanded):
            jvm.append(expanded[at])
            at += 1
    return CommandLine(tuple(jvm), "", (), complete)


def _expand(
    words: Sequence[str], read: Callable[[str], str | None] | None
) -> tuple[list[str], bool]:
    """Expand argument files, up to the main class."""
    result: list[str] = []
    complete = True
    expanding = True
    value_follows = False
    main_follows = False
    for word in words:
        if not expanding:
            result.append(word)
            continue
        if word.startswith("@@"):
            pieces = [word[1:]]
        elif word.startswith("@") and len(word) > 1:
            text = read(word[1:]) if read is not None else None
            if text is None:
                complete = False
                pieces = [word]
            else:
                pieces = split_argument_file(text)
        else:
            pieces = [word]
        for piece in pieces:
            result.append(piece)
            if main_follows:
                expanding = False
            elif value_follows:
                value_follows = False
            elif piece in _TAKES_VALUE:
                value_follows = True
            elif piece in _MAIN_OPTIONS:
                main_follows = True
            elif piece == "--disable-@files" or piece.startswith("--module="):
                expanding = False
            elif not piece.startswith(("-", "@")):
                expanding = False
    return result, complete


def split_argument_file(text: str) -> list[str]:
    """Split the content of a launcher's argument file into words.

    Words are separated by blanks; quotes of either kind hold a word together, and inside them a
    backslash escapes the next character; ``#`` starts a comment.
    """
    words: list[str] = []
    word: list[str] | None = None
    quote = ""
    at = 0
    while at < len(text):
        char = text[at]
        at += 1
        if quote:
            if char == quote:
                quote = ""
            elif char == "\\" and at < len(text):
                assert word is not None
                following = text[at]
                at += 1
                if following in "\r\n":
                    # A line that continues: the break and the blanks that follow vanish.
                    while at < len(text) and text[at] in " \t\f\r\n":
                        at += 1
                else:
                    word.append(_ESCAPES.get(following, following))
            elif char in "\r\n":
                quote = ""
            else:
                assert word is not None
                word.append(char)
        elif char in "\"'":
            quote = char
            word = [] if word is None else word
        elif char in " \t\f\r\n":
            if word is not None:
                words.append("".join(word))
                word = None
        elif char == "#" and word is None:
            while at < len(text) and text[at] not in "\r\n":
                at += 1
        elif char == "\\" and at < len(text) and text[at] in "\r\n":
            while at < len(text) and text[at] in " \t\f\r\n":
                at += 1
        else:
            word = [] if word is None else word
            word.append(char)
    if word is not None:
        words.append("".join(word))
    return words
