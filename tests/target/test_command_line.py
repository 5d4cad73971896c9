from __future__ import annotations

import pytest

from jvmti.target.processes.command_line import parse, split_argument_file


@pytest.mark.parametrize(
    ("words", "options", "main", "arguments"),
    [
        (["-cp", "x.jar", "com.acme.Main", "-jar", "y"], ["-cp", "x.jar"], "com.acme.Main", 2),
        (["-Xmx1g", "-jar", "/opt/my app.jar", "run"], ["-Xmx1g"], "/opt/my app.jar", 1),
        (["--module-path", "mods", "-m", "acme/com.acme.Main"], ["--module-path", "mods"],
         "acme/com.acme.Main", 0),
        (["-p", "mods", "--module", "acme"], ["-p", "mods"], "acme", 0),
        (["--module=acme/A", "x"], [], "acme/A", 1),
        (["--class-path=a", "Main"], ["--class-path=a"], "Main", 0),
        (["--add-opens", "java.base/java.lang=ALL-UNNAMED", "Main"],
         ["--add-opens", "java.base/java.lang=ALL-UNNAMED"], "Main", 0),
        (["--enable-native-access", "ALL-UNNAMED", "Main"],
         ["--enable-native-access", "ALL-UNNAMED"], "Main", 0),
        (["-version"], ["-version"], "", 0),
        ([], [], "", 0),
        (["-cp"], ["-cp"], "", 0),
        (["-jar"], [], "", 0),
        (["Source.java", "x"], [], "Source.java", 1),
        (["--disable-@files", "@odd", "x"], ["--disable-@files"], "@odd", 1),
    ],
)  # fmt: skip
def test_a_command_line_comes_apart(
    words: list[str], options: list[str], main: str, arguments: int
) -> None:
    line = parse(words)
    assert list(line.jvm_arguments) == options
    assert line.main == main
    assert len(line.arguments) == arguments


def test_argument_files_are_expanded_up_to_the_main_class() -> None:
    files = {"vm": "-Xmx1g # heap\n-cp 'a b.jar'\n", "main": '"com.acme.Main" one'}
    line = parse(["@vm", "@main", "@literal"], files.get)
    assert line.jvm_arguments == ("-Xmx1g", "-cp", "a b.jar")
    assert line.main == "com.acme.Main"
    assert line.arguments == ("one", "@literal")
    assert line.complete


def test_a_hidden_argument_file_leaves_the_rest_readable() -> None:
    line = parse(["@vm", "-Xmx1g", "com.acme.Main"])
    assert line.main == "com.acme.Main"
    assert not line.complete


def test_an_escaped_at_sign_is_a_word() -> None:
    assert parse(["@@odd"]).main == "@odd"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a b\tc\nd", ["a", "b", "c", "d"]),
        ("# all\n-x # rest\n", ["-x"]),
        ('"c:\\\\dir with\\tblank"', ["c:\\dir with\tblank"]),
        ('-cp "a:\\\n    b"', ["-cp", "a:b"]),
        ("a'b c'd", ["ab cd"]),
        ("''", [""]),
    ],
)
def test_argument_files_split_as_the_launcher_does(text: str, words: list[str]) -> None:
    assert split_argument_file(text) == words
