"""``JAVA_TOOL_OPTIONS``: an environment variable with options for every JVM.

The variable is split at white space. Text between a pair of single or double quotes is taken
literally, including the other kind of quote; quotes may open and close anywhere and are removed.
There is no escape character, so text with both kinds of quote becomes several pieces.
"""

from __future__ import annotations

from jvmti.target.errors import OptionsError

__all__ = ["agent_argument", "append_tool_options", "quote_tool_option", "split_tool_options"]

_BLANKS = " \t\r\n\v\f"


def quote_tool_option(option: str) -> str:
    """Quote one option by the variable's rules."""
    if "\0" in option:
        raise OptionsError("an environment variable cannot contain a NUL character")
    if option and not any(char in _BLANKS or char in "'\"" for char in option):
        return option
    pieces: list[str] = []
    for index, piece in enumerate(option.split("'")):
        if index:
            pieces.append('"\'"')
        if piece or not option:
            pieces.append(f"'{piece}'")
    return "".join(pieces)


def split_tool_options(text: str) -> list[str]:
    """Split the variable's value into options, by the specification's rules.

    Raises:
        OptionsError: a quote that is never closed (HotSpot refuses to start with one).
    """
    options: list[str] = []
    option: list[str] | None = None
    quote = ""
    for char in text:
        if quote:
            if char == quote:
                quote = ""
            else:
                assert option is not None
                option.append(char)
        elif char in _BLANKS:
            if option is not None:
                options.append("".join(option))
                option = None
        else:
            option = [] if option is None else option
            if char in "'\"":
                quote = char
            else:
                option.append(char)
    if quote:
        raise OptionsError(f"JAVA_TOOL_OPTIONS has a {quote} that is never closed: {text!r}")
    if option is not None:
        options.append("".join(option))
    return options


def append_tool_options(existing: str | None, addition: str) -> str:
    """Append to a value that may already be set: several tools can share the variable."""
    existing = (existing or "").strip(_BLANKS)
    return f"{existing} {addition}" if existing else addition


def agent_argument(library: str, options: str) -> str:
    """The VM argument that loads an agent library: ``-agentpath:LIBRARY=OPTIONS``.

    Raises:
        OptionsError: the path contains ``=``, at which every JVM would cut it.
    """
    if "=" in library:
        raise OptionsError(
            f"the agent library's path contains '=', where the JVM would cut it: {library!r}; "
            "copy the library to another directory and name it by JVMTI_AGENT_LIBRARY"
        )
    return f"-agentpath:{library}={options}" if options else f"-agentpath:{library}"
