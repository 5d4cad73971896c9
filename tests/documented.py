"""Runs the examples of a page of the documentation, one after the other, as a reader would.

A page is read as a list of fenced blocks:

- ``java title="Queue.java"``: a program, written to the reader's directory and compiled.
- ``python title="agent.py"``: a file, written there as well.
- ``python``: run, all of a page in one namespace.
- ``sh``: run line by line.  ``java NAME`` starts the program, in the background unless another
  word stands before it; of other commands those of this package are run, and `NOT_RUN` left out.
- ``text``: what the block before it printed; ``…`` stands for anything, and
  in what a command prints a number for any other.

Where an example names a program that runs, it is given the process id: on a machine that runs
several tests at once a name would have to be the only one.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import re
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import command_line
import compiler
import jvms
import prepared

if TYPE_CHECKING:
    from programs import JavaProgram, JavaPrograms

#: Commands of a page that are somebody else's.
NOT_RUN = ("javac", "pip", "make", "export", "docker", ".")
#: One thing, where another time there are several.
ONE = re.compile(r"\b1 (thread|cpu sample)\b")
#: Process ids, times, addresses and sizes of what commands print.
NUMBER = re.compile(r"\b(?:0x[0-9a-f]+|\d[\d,.:]*)\b|(?<=\w)#?\d+\b")
#: A time, once its number is 0: on a busy machine it may be long enough for another unit.
TIME = re.compile(r"\b0 (?:min 0 )?[mµ]?s\b")
LIKE = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
FENCE = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', re.M | re.S)


@dataclass(frozen=True)
class Block:
    """One fenced block of a page."""

    language: str
    title: str | None
    text: str
    line: int


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page, in order."""
    text = page.read_text()
    return [
        Block(found[1], found[2], found[3], text.count("\n", 0, found.start()) + 1)
        for found in FENCE.finditer(text)
    ]


class Reader:
    """Somebody who does what a page says, in a directory of their own."""

    def __init__(self, page: Path, directory: Path, java_program: JavaPrograms) -> None:
        self.page = page
        self.directory = directory
        self.java_program = java_program
        self.running: dict[str, JavaProgram] = {}
        self.names: dict[str, Any] = {"__name__": "__main__"}
        self.printed = ""
        self.said_by_command = False
        self.compared = 0

    def read(self) -> None:
        """Do all of it."""
        for block in blocks(self.page):
            try:
                self.follow(block)
            except Exception as error:
                raise AssertionError(
                    f"{self.page.relative_to(jvms.ROOT)}:{block.line}: {error}"
                ) from error

    def follow(self, block: Block) -> None:
        """Do what one block says."""
        if block.title is not None:
            file = self.directory / block.title
            file.parent.mkdir(exist_ok=True)
            file.write_text(block.text)
            if block.language == "java":
                self.compile(file)
        elif block.language == "python":
            code = compile(self.addressed(block.text), f"{self.page.name}:{block.line}", "exec")
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(code, self.names)
            self.printed, self.said_by_command = out.getvalue(), False
        elif block.language == "sh":
            self.printed = "".join(map(self.command, block.text.splitlines()))
            self.said_by_command = True
        elif block.language == "text":
            want, got = block.text, self.printed
            if self.said_by_command:
                want, got = (ONE.sub(r"0 \1s", text) for text in (want, got))
                want, got = (TIME.sub("0 s", NUMBER.sub("0", text)) for text in (want, got))
            want = re.sub(r"\s*…\s*", "...", want)
            if not doctest.OutputChecker().check_output(want, got, LIKE):
                raise AssertionError(f"expected\n{want}\ngot\n{got}")
            self.compared += 1
        else:
            raise ValueError(f"nobody knows how to run {block.language!r}")

    def compile(self, file: Path) -> None:
        command = [*compiler.compile_command(compiler.OLDEST, None), "-g", "-d", file.parent]
        command += ["-cp", self.directory]
        done = subprocess.run(
            [*map(str, command), str(file)], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr + done.stdout

    def addressed(self, text: str) -> str:
        """The text with process ids in place of the names of programs that run."""
        for name, program in self.running.items():
            text = text.replace(f'attach("{name}")', f"attach({self.pid(program)})")
        jvm = self.java_program.jvm
        start = repr([jvm.java, *jvm.args, "-cp", str(self.directory)])[:-1]
        return re.sub(r'\["java", "(\w+)"', lambda made: f'{start}, "{made[1]}"', text)

    @staticmethod
    def pid(program: JavaProgram) -> int:
        """The JVM's own, which may be a child of what was started."""
        children = Path(f"/proc/{program.pid}/task/{program.pid}/children").read_text().split()
        return int(children[0]) if program.command[0] == "unshare" else program.pid

    def command(self, line: str) -> str:
        words = shlex.split(line, comments=True)
        if words[:1] == ["sudo"]:
            words = words[1:]
        if not words or words[0] in NOT_RUN:
            return ""
        if "java" in words[:-1] and words[0] != "jvmti":
            wrapper = words[: words.index("java")]
            name = words[-1]
            program = self.java_program.start(["-cp", str(self.directory), name], wrapper=wrapper)
            program.expect("ready", timeout=60)
            self.running[name] = program
            return ""
        assert words[0] == "jvmti", f"nobody knows how to run {line!r}"
        jvm = self.java_program.jvm
        pids = {name: str(self.pid(program)) for name, program in self.running.items()}
        words = [pids.get(word, word) for word in words]
        if "--" in words:
            after = words.index("--") + 1
            words[after:] = [jvm.java, *jvm.args, "-cp", str(self.directory), *words[after + 1 :]]
        done = prepared.run(["-m", *words], command_line.imports(), cwd=self.directory)
        assert done.returncode == 0, f"{line}: {done.returncode}\n{done.stderr}{done.stdout}"
        return done.stdout
