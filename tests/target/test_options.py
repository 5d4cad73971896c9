from __future__ import annotations

import pytest

from jvmti.target.errors import OptionsError
from jvmti.target.options import AgentOptions, decode_value, encode_value
from jvmti.target.tool_options import (
    agent_argument,
    append_tool_options,
    quote_tool_option,
    split_tool_options,
)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (AgentOptions(), ""),
        (AgentOptions(connect="/tmp/a b,c=d"), "connect=/tmp/a%20b%2Cc%3Dd"),
        (AgentOptions(listen=""), "listen"),
        (AgentOptions(listen="/run/jvmti.sock"), "listen=/run/jvmti.sock"),
        (AgentOptions(reserve=()), "reserve"),
        (
            AgentOptions(reserve=("can_pop_frame", "can_force_early_return")),
            "reserve=can_pop_frame+can_force_early_return",
        ),
        (AgentOptions(listen="", reserve=(), timeout=25), "listen,reserve,timeout=25"),
        (AgentOptions(token="00ff", timeout=10, log="/tmp/é"), None),
        (AgentOptions(log="/tmp/\udcff"), "log=/tmp/%FF"),
        (AgentOptions(connect="/tmp/%41'\"\n"), "connect=/tmp/%2541%27%22%0A"),
        (
            AgentOptions(script="/a b.py", options="x=1,y='\udcff'", follow=True, unload=3),
            "script=/a%20b.py,options=x%3D1%2Cy%3D%27%FF%27,follow,unload=3",
        ),
        (AgentOptions(script="/a.py", python="python3.12"), "script=/a.py,python=python3.12"),
    ],
)
def test_options_read_back_as_they_were_written(options: AgentOptions, text: str | None) -> None:
    if text is not None:
        assert str(options) == text
    assert AgentOptions.parse(str(options)) == options


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("conect=/tmp/x", "did you mean 'connect'"),
        ("frobnicate", "unknown option 'frobnicate'"),
        ("listen,", "empty option"),
        (",listen", "empty option"),
        ("listen,listen", "twice"),
        ("connect", "needs a value"),
        ("connect=", "empty value"),
        ("timeout=soon", "not a whole number"),
        ("timeout=2.5", "whole number"),
        ("timeout=0", "positive"),
        ("timeout=-1", "number"),
        ("script", "needs a value"),
        ("script=/a.py,follow=yes", "no value"),
        ("script=/a.py,unload=0", "positive"),
        ("script=/a.py,connect=/tmp/x", "exclude"),
        ("options=x", "needs script="),
        ("follow", "needs script="),
        ("token=XYZ", "hexadecimal"),
        ("token=abc", "hexadecimal"),
        ("reserve=can_fly+boo!", "percent-encode"),
        ("reserve=fly", "not the name of a capability"),
        ("log=/tmp/a b", "percent-encode"),
        ("log=/tmp/%4", "percent-encode"),
        ("log=/tmp/%00", "%00"),
        (" listen", "unknown option"),
    ],
)
def test_a_malformed_option_string_is_refused_with_the_part_that_is_wrong(
    text: str, why: str
) -> None:
    with pytest.raises(OptionsError, match=why):
        AgentOptions.parse(text)


def test_every_byte_of_a_path_survives_the_encoding() -> None:
    path = bytes(range(1, 256)).decode("utf-8", "surrogateescape")
    assert decode_value(encode_value(path)) == path


@pytest.mark.parametrize(
    "option",
    [
        "-Da=b",
        "-Da=b c",
        "-Dq='single'",
        '-Dq="double"',
        "-Dq='a' \"b\"\t\n\v\f\r'",
        "'",
        '"',
        "''\"\"",
        "-agentpath:/a b/it's.so=x",
    ],
)
def test_a_quoted_tool_option_is_one_option_again(option: str) -> None:
    assert split_tool_options(quote_tool_option(option)) == [option]
    both = append_tool_options(f"-Dfirst=1 {quote_tool_option(option)}", quote_tool_option(option))
    assert split_tool_options(both) == ["-Dfirst=1", option, option]


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("", []),
        (" \t\r\n\v\f ", []),
        ("a  b", ["a", "b"]),
        ("a' 'b", ["a b"]),
        ('"it\'s" \'say "x"\'', ["it's", 'say "x"']),
        ("x'' \"\"", ["x", ""]),
        ("a\\ b", ["a\\", "b"]),
    ],
)
def test_tool_options_split_by_the_rules_of_the_specification(
    text: str, options: list[str]
) -> None:
    assert split_tool_options(text) == options


def test_an_open_quote_in_tool_options_is_an_error() -> None:
    with pytest.raises(OptionsError, match="never closed"):
        split_tool_options("-Da='b")


def test_a_library_path_that_the_jvm_would_cut_is_refused() -> None:
    with pytest.raises(OptionsError, match="'='"):
        agent_argument("/tmp/a=b/libjvmti.so", "listen")
