"""The page that debugs a database: each line is typed, and what comes of it is on the page."""

from __future__ import annotations

import doctest
import re
from typing import TYPE_CHECKING, Any

import pytest

import compiler
import jars
import jvms
import jvmti
from documented import LIKE, NUMBER
from jvmti.shell import magics, scripts
from jvmti.shell.debugger.debugging import debugging

if TYPE_CHECKING:
    from programs import JavaPrograms

PAGE = jvms.ROOT / "docs" / "case_debugging.md"
HASH = re.compile(r"@[0-9a-f]+\b")
"""Identity hashes of objects."""
TYPED = re.compile(r"^In \[\d+\]: (.*)\n((?:(?!In \[).*\n)*)", re.M)


def typed_and_shown() -> list[tuple[str, str]]:
    """The lines that the reader types, each with what comes of it."""
    blocks = re.findall(r"^```text\n(.*?)^```$", PAGE.read_text(), re.M | re.S)
    return [pair for block in blocks for pair in TYPED.findall(block)]


@pytest.mark.newest
@pytest.mark.slow
def test_the_transcript_of_a_session_on_a_database_is_what_happens(
    java_program: JavaPrograms, capsys: pytest.CaptureFixture[str]
) -> None:
    jar, sources = jars.with_sources(jars.DATABASE)
    path = f"{jar}:{compiler.classes('Querying')}"
    url = "jdbc:h2:mem:orders"
    program = java_program.start(
        [*jvms.QUICK, "-Xmx1g", "-cp", path, "Querying", url, "1", "2", "hold"]
    )
    program.expect("ready")
    pairs = typed_and_shown()
    assert len(pairs) > 10
    with jvmti.attach(program.pid, timeout=30) as vm:
        vm.source_path.append(sources)
        names: dict[str, Any] = scripts.predefined_names(vm, {})
        for number, (line, shown) in enumerate(pairs):
            capsys.readouterr()
            if line.startswith("%"):
                name, _, text = line.removeprefix("%").partition(" ")
                magics.run(vm, names, name, text)
            elif line:
                print(repr(eval(line, names)))
            if not number:
                program.send("")
            got = capsys.readouterr().out
            # A thread stops while the prompt waits.
            if re.search('^"', shown, re.M) and not re.search('^"', got, re.M):
                magics.run(vm, names, "wait", "60")
                got += capsys.readouterr().out
            want = re.sub(r"^Out\[\d+\]: ", "", shown, flags=re.M)
            want = re.sub(r"\s*…\s*", "...", want)
            one, other = (NUMBER.sub("0", HASH.sub("@0", text)) for text in (want, got))
            same = doctest.OutputChecker().check_output(one, other, LIKE)
            assert same, f"In [{number + 1}]: {line}\nexpected\n{shown}\ngot\n{got}"
        debugging(vm, names).close()
    assert program.expect(re.compile(r".*insert into orders0.*"))
