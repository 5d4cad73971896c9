"""The agent's options: one grammar for the agent string, the command line and the API.

    options = item ("," item)*
    item    = key | key "=" value

Values are percent-encoded (UTF-8) except letters, digits and ``/._:@+-``, so an option string has
no blanks, quotes or commas in its values and passes unchanged through ``JAVA_TOOL_OPTIONS``, shells
and argument files.
"""

from __future__ import annotations

import re

from jvmti.interface.frozen import frozen
from jvmti.target.errors import OptionsError

__all__ = ["AgentOptions", "decode_value", "encode_value"]

_PLAIN = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._:@+-")
_VALUE = re.compile(r"(?:[A-Za-z0-9/._:@+-]|%[0-9A-Fa-f]{2})*\Z")
_CAPABILITY = re.compile(r"can_[a-z0-9_]+\Z")
_TOKEN = re.compile(r"(?:[0-9a-f]{2}){1,64}\Z")
_NUMBER = re.compile(r"[0-9]{1,6}\Z")
_KEYS = (
    "connect",
    "listen",
    "reserve",
    "script",
    "options",
    "python",
    "follow",
    "unload",
    "token",
    "timeout",
    "log",
)
_TEXTS = ("connect", "script", "options", "python", "log")
"""Keys whose values may be any text except the empty one."""


def encode_value(value: str) -> str:
    """Percent-encode a value. Undecodable bytes of a path survive (surrogateescape)."""
    return "".join(
        chr(byte) if byte in _PLAIN else f"%{byte:02X}"
        for byte in value.encode("utf-8", "surrogateescape")
    )


def decode_value(text: str) -> str:
    """Undo :func:`encode_value`; raise OptionsError for text that it never produces."""
    if not _VALUE.match(text):
        raise OptionsError(
            f"{text!r}: percent-encode (%XX) everything but letters, digits and / . _ : @ + -"
        )
    raw = re.sub(
        rb"%([0-9A-Fa-f]{2})",
        lambda match: bytes.fromhex(match[1].decode("ascii")),
        text.encode("ascii"),
    )
    if b"\0" in raw:
        raise OptionsError(f"{text!r} contains %00, which no option value can")
    return raw.decode("utf-8", "surrogateescape")


@frozen
class AgentOptions:
    """The options for loading the agent. Every field is optional.

    ``str()`` returns the option string and :meth:`parse` reads it.

    Attributes:
        connect: Unix socket that the agent connects to. At start-up it then holds the JVM in the
            OnLoad phase until the controller releases it; if it cannot connect, the JVM starts
            without an agent.
        listen: Unix socket to listen on once the JVM has started; the empty string means
            ``/tmp/.jvmti-<uid>/<pid>.sock``. None: do not listen.
        reserve: capabilities to add at start-up and relinquish, which keeps them available to
            controllers that attach later; the empty tuple means all that are granted only at
            start-up. None: reserve nothing.
        script: a Python file, an agent, which runs in a process of its own. If it fails, the JVM
            does not start; JVMs that inherit the options run without it.
        options: text for the script's functions.
        python: the interpreter for the script; None means the one of this package.
        follow: run the script also for JVMs that inherit the options, each in its own process.
        unload: whole seconds that the JVM's exit waits for the script's ``agent_onunload``; None is
            the default, 10.
        token: hexadecimal text that the agent repeats in its greeting.
        timeout: whole seconds that start-up waits for the controller's first message, 10 if None,
            or for the script's setup, 60 if None.
        log: file for the agent's log.

    Raises:
        OptionsError: the grammar cannot express the value of a field.
    """

    connect: str | None = None
    listen: str | None = None
    reserve: tuple[str, ...] | None = None
    script: str | None = None
    options: str | None = None
    python: str | None = None
    follow: bool = False
    unload: int | None = None
    token: str | None = None
    timeout: int | None = None
    log: str | None = None

    def __post_init__(self) -> None:
        if self.reserve is not None:
            object.__setattr__(self, "reserve", tuple(self.reserve))
        for key in ("connect", "script", "python", "log"):
            path = getattr(self, key)
            if path is not None and not path:
                raise OptionsError(f"{key} needs a path, for example {key}=/tmp/example")
        for key in (*_TEXTS, "listen"):
            if "\0" in (getattr(self, key) or ""):
                raise OptionsError(f"{key}: its value cannot contain a NUL character")
        if self.script is not None and self.connect is not None:
            raise OptionsError("script and connect exclude each other: both would hold the start")
        if self.script is None:
            for key in ("options", "python", "follow", "unload"):
                if getattr(self, key):
                    raise OptionsError(f"{key} needs script=")
        for capability in self.reserve or ():
            if not _CAPABILITY.match(capability):
                raise OptionsError(
                    f"reserve: {capability!r} is not the name of a capability; they look like "
                    "can_generate_breakpoint_events and are joined by +"
                )
        if self.token is not None and not _TOKEN.match(self.token):
            raise OptionsError(
                f"token: {self.token!r} is not an even number of lower-case hexadecimal digits"
            )
        for key in ("timeout", "unload"):
            limit = getattr(self, key)
            if limit is not None and (limit != int(limit) or not 0 < limit < 1_000_000):
                raise OptionsError(f"{key}: {limit!r} is not a positive number of seconds")

    def __str__(self) -> str:
        items = []
        if self.connect is not None:
            items.append(f"connect={encode_value(self.connect)}")
        if self.listen is not None:
            items.append(f"listen={encode_value(self.listen)}" if self.listen else "listen")
        if self.reserve is not None:
            items.append(f"reserve={'+'.join(self.reserve)}" if self.reserve else "reserve")
        for key in ("script", "options", "python"):
            if getattr(self, key):
                items.append(f"{key}={encode_value(getattr(self, key))}")
        if self.follow:
            items.append("follow")
        if self.unload is not None:
            items.append(f"unload={int(self.unload)}")
        if self.token is not None:
            items.append(f"token={self.token}")
        if self.timeout is not None:
            items.append(f"timeout={int(self.timeout)}")
        if self.log is not None:
            items.append(f"log={encode_value(self.log)}")
        return ",".join(items)

    @classmethod
    def parse(cls, text: str) -> AgentOptions:
        """Read an option string.

        Raises:
            OptionsError: an unknown or repeated key, a missing value, a wrong encoding.
        """
        values: dict[str, str | None] = {}
        for item in text.split(",") if text else ():
            key, equals, value = item.partition("=")
            if key not in _KEYS:
                raise OptionsError(_unknown(key, text))
            if key in values:
                raise OptionsError(f"option {key!r} is given twice in {text!r}")
            if equals and not value:
                raise OptionsError(f"option {key!r} has an empty value in {text!r}")
            values[key] = decode_value(value) if equals else None
        for key in (*_TEXTS, "unload", "token", "timeout"):
            if key in values and values[key] is None:
                raise OptionsError(f"option {key!r} needs a value, as in {key}=…, in {text!r}")
        if values.get("follow") is not None:
            raise OptionsError(f"option 'follow' has no value, but one is given in {text!r}")
        limits: dict[str, int | None] = {}
        for key in ("timeout", "unload"):
            limit = values.get(key)
            if limit is not None and not _NUMBER.match(limit):
                raise OptionsError(f"{key}: {limit!r} is not a whole number of seconds")
            limits[key] = int(limit) if limit is not None else None
        reserve = values.get("reserve")
        return cls(
            connect=values.get("connect"),
            listen=(values["listen"] or "") if "listen" in values else None,
            reserve=(tuple(reserve.split("+")) if reserve else ()) if "reserve" in values else None,
            script=values.get("script"),
            options=values.get("options"),
            python=values.get("python"),
            follow="follow" in values,
            unload=limits["unload"],
            token=values.get("token"),
            timeout=limits["timeout"],
            log=values.get("log"),
        )


def _unknown(key: str, text: str) -> str:
    if not key:
        return f"empty option in {text!r}: write key or key=value, separated by single commas"
    import difflib  # for errors only

    close = difflib.get_close_matches(key, _KEYS, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    return f"unknown option {key!r}{hint}; known are: {', '.join(_KEYS)}"
