"""Debugs programs that others wrote, as an editor does, while they work.

python tests/adapter/real_programs.py --jvms 17,21,25 --only kotlin,scala,tomcat,ecj,spark,crowd

Each is launched, and attached to while it runs.  What the debugger shows is compared with what the
program itself prints or answers, and the program must go on as if nobody had looked.  Maven brings
the programs, to build/maven; Spark comes with `make .venv/.spark`.
"""

from __future__ import annotations

import argparse
import itertools
import os
import re
import signal
import subprocess
import sys
import threading
import time
import traceback
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

TESTS = Path(__file__).parents[1]
if __name__ == "__main__":
    sys.path.insert(0, str(TESTS))

import compiler  # noqa: E402
import jvms  # noqa: E402
from adapter.client import Client, Failed, line  # noqa: E402

ROOT = TESTS.parent
BUILD = ROOT / "build" / "real_programs"
PROGRAMS = Path(__file__).parent / "programs"
COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"
POM = """<project><modelVersion>4.0.0</modelVersion>
<groupId>none</groupId><artifactId>none</artifactId><version>1</version>
<dependencies><dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version>
</dependency></dependencies></project>
"""
KOTLIN = "org.jetbrains.kotlin:kotlin-compiler-embeddable:2.1.20"
SCALA = "org.scala-lang:scala3-compiler_3:3.3.6"
TOMCAT = "org.apache.tomcat.embed:tomcat-embed-core:10.1.30"
LONG = 120.0
"""Seconds for what a busy machine may delay."""


# ---- what is needed ----------------------------------------------------------------------------


def jars_of(artifact: str) -> list[Path]:
    """The jars of an artifact and of what it needs; Maven brings them."""
    group, name, version = artifact.split(":")
    place = ROOT / "build" / "maven" / f"{name}-{version}"
    if not (place / ".complete").exists():
        place.mkdir(parents=True, exist_ok=True)
        (place / "pom.xml").write_text(POM.format(group, name, version))
        command = ["mvn", "-q", "-B", "-f", place / "pom.xml", COPY, f"-DoutputDirectory={place}"]
        subprocess.run(command, check=True)
        (place / ".complete").touch()
    return sorted(place.glob("*.jar"))


def compiled(name: str, command: Sequence[str | Path]) -> Path:
    """A folder with classes; the command makes them, if one of the programs is newer."""
    place = BUILD / name
    newest = max(one.stat().st_mtime for one in PROGRAMS.iterdir())
    if not (place / ".complete").exists() or (place / ".complete").stat().st_mtime < newest:
        place.mkdir(parents=True, exist_ok=True)
        subprocess.run([*command, "-d", place], check=True)
        (place / ".complete").touch()
    return place


def path_of(*parts: Path) -> str:
    """A class path."""
    return os.pathsep.join(map(str, parts))


# ---- programs and what they print --------------------------------------------------------------


class Program:
    """A program that runs, launched by the adapter or by us, with what it has printed.

    Args:
        command: starts it.
        way: `launched` or `late`.
        client: the editor.
        main: the main class, or a part of it, where the command starts something else.
        more: further arguments of `launch` and `attach`.
    """

    def __init__(
        self,
        command: Sequence[str | Path],
        way: str,
        client: Client,
        *,
        main: str | None = None,
        **more: Any,
    ) -> None:
        self._command = list(map(str, command))
        self.way = way
        self.client = client
        self._main = main
        self._more = more
        self._process: subprocess.Popen[str] | None = None
        self._lines: list[str] = []
        Program.running.append(self)

    running: ClassVar[list[Program]] = []
    """What has not ended."""

    def begin(self, ready: str, *breakpoints: Any, path: Path | None = None) -> None:
        """Begin the session; of a late one, when the program has printed a line that matches."""
        client = self.client
        client.initialize()
        if self.way == "launched":
            main = {} if self._main is None else {"main": self._main}
            client.ask("launch", command=self._command, **main, **self._more)
        else:
            self._process = subprocess.Popen(
                self._command,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                start_new_session=True,
            )
            threading.Thread(target=self._read, daemon=True).start()
            self.wait_for(ready)
            client.ask("attach", pid=self._pid(), **self._more)
        client.event("initialized", LONG)
        if path is not None:
            client.breakpoints(*breakpoints, path=path)
        client.ask("configurationDone")
        self.wait_for(ready)

    def _pid(self) -> int:
        """The process of the JVM: the one that was started, or one that it has started."""
        assert self._process is not None
        pids = [self._process.pid]
        while self._main is not None:
            children = Path(f"/proc/{pids[0]}/task/{pids[0]}/children").read_text().split()
            # A JVM in place of the shell that began it leaves what that had started as zombies.
            children = [one for one in children if Path(f"/proc/{one}/cmdline").read_bytes()]
            if not children:
                break
            pids.insert(0, int(children[0]))
        return pids[0]

    def _read(self) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        self._lines.extend(iter(self._process.stdout.readline, ""))

    @property
    def text(self) -> str:
        """What it has printed so far."""
        return "".join(self._lines) if self._process else self.client.output("stdout")

    def wait_for(self, pattern: str, since: int = 0, timeout: float = LONG) -> re.Match[str]:
        """Wait until it has printed something behind a place; the match."""
        until = time.monotonic() + timeout
        while time.monotonic() < until:
            if found := re.compile(pattern, re.MULTILINE).search(self.text, since):
                return found
            time.sleep(0.02)
        raise AssertionError(f"{self._command[-1]} prints no {pattern!r}: {self.text[-500:]!r}")

    def end(self) -> None:
        """End it, and the session where there is one."""
        if not self.client.ended:
            self.client.disconnect()
        if self._process is not None:
            assert self._process.poll() is None, "the program has ended"
        self.kill()

    def kill(self) -> None:
        """End all of it at once, whatever state it is in."""
        Program.running.remove(self)
        if self._process is not None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        if self.client.process is not None:  # which ends what it has launched
            self.client.process.terminate()
            self.client.process.wait()


def expected(number: int) -> int:
    """What all shops sell in a round."""
    return 10 * number + 1 - number % 3 + 6 * number - (number % 5 == 0)


class Rounds:
    """The lines `round 5 sum 77` of a program, which must be right and in order."""

    def __init__(self, program: Program, result: Callable[[int], int] = expected) -> None:
        self._program = program
        self._result = result

    def check(self) -> int:
        """Check all lines so far; how many there are."""
        text = self._program.text
        found = re.findall(r"^round (\d+) sum (-?\d+)$", text[: text.rfind("\n") + 1], re.MULTILINE)
        for count, (number, total) in enumerate(found, 1):
            assert int(number) == count, (number, count)
            assert int(total) == self._result(count), (number, total)
        return len(found)

    def go_on(self, more: int = 10) -> int:
        """Wait for further rounds, and check all."""
        before = self.check()
        self._program.wait_for(rf"^round {before + more} sum .*\n")
        return self.check()


def report(*words: object) -> None:
    """Say what was done."""
    print(*words, flush=True)


# ---- shops in Kotlin, Scala and Java -----------------------------------------------------------


class Shop:
    """What is debugged of a program that has rounds.

    Args:
        client: the editor.
        source: the program's source.
        prices: the source with what is inlined; `None` if nothing is.
        way: how the session began.
    """

    def __init__(self, client: Client, source: Path, prices: Path | None, way: str) -> None:
        self.client = client
        self.source = source
        self.prices = prices
        self.way = way

    def at(self, thread: int) -> str:
        """The word of the line that a thread is at, of whichever file."""
        top = self.client.top(thread)
        path = Path(top.get("source", {}).get("path", ""))
        if not path.is_file():
            return str(top)
        text = path.read_text().splitlines()[top["line"] - 1]
        return text.rpartition("// ")[2]

    def stop(self, word: str, **more: Any) -> int:
        """Stop at a line."""
        where = {"line": line(word, self.source), **more}
        self.client.breakpoints(where, path=self.source)
        thread = self.client.stopped("breakpoint", LONG)
        assert self.at(thread) == word
        return thread

    def number(self, thread: int, name: str = "number") -> int:
        """A local variable."""
        return int(self.client.locals(thread)[name]["value"])

    def resume(self, thread: int) -> None:
        """Let it run without breakpoints in the source."""
        self.client.breakpoints(path=self.source)
        self.go_on(thread)

    def go_on(self, thread: int) -> None:
        """Let it run, and all that have stopped meanwhile."""
        self.client.ask("continue", threadId=thread)
        if self.prices is None:
            resume_all(self.client)

    # ---- what is done ----------------------------------------------------------------------

    def look(self) -> None:
        """A breakpoint, the stack, variables and expressions."""
        client = self.client
        thread = self.stop("TOTAL")
        number = self.number(thread)
        names = [one["name"] for one in client.frames(thread)]
        assert names[0].startswith("Shop"), names
        assert ".round(" in names[0], names
        assert int(client.evaluate(thread, "number * 6")["result"]) == 6 * number
        assert client.locals(thread)["all"]["value"] == str(6 * number)
        assert client.evaluate(thread, "this.price(3) + 1")["result"] == "32"
        assert client.evaluate(thread, "price(number) > 0 && all == 6 * number")["result"] == "true"
        self.resume(thread)

    def step(self) -> None:
        """Into a method, over lines, out."""
        client = self.client
        thread = self.stop("NET")
        client.breakpoints(path=self.source)
        count = self.number(thread, "count")
        step(client, "next", thread)
        assert self.at(thread) == "RETURN"
        assert self.number(thread, "net") == 10 * count
        about = step(client, "stepOut", thread).get("description", "")
        # A caller that began before the debugger came has no probes.
        if not (self.way == "late" and about.startswith("about to leave for")):
            assert ".price(" not in client.top(thread)["name"], about
        self.resume(thread)

    def condition(self) -> None:
        """Conditions that the agent decides, and such with calls."""
        for text in ("number % 10 == 3", "number % 10 == 3 && price(number) > 1"):
            thread = self.stop("TOTAL", condition=text)
            assert self.number(thread) % 10 == 3
            self.resume(thread)

    def log(self) -> None:
        """A logpoint, which stops nothing."""
        client = self.client
        message = "logged {number} {all}"
        where = {"line": line("TOTAL", self.source), "logMessage": message}
        client.breakpoints(where, path=self.source)
        until = time.monotonic() + LONG
        while time.monotonic() < until:
            found = re.findall(r"^logged (\d+) (\d+)$", client.output("stdout"), re.MULTILINE)
            if len(found) >= 5:
                break
            time.sleep(0.02)
        assert len(found) >= 5, client.output("stdout")[-300:]
        assert all(int(all_) == 6 * int(number) for number, all_ in found)
        client.breakpoints(path=self.source)

    def exception(self) -> None:
        """An exception that the program catches."""
        client = self.client
        options = [
            {"filterId": one, "condition": "java.lang.IllegalStateException"}
            for one in ("caught", "uncaught")
        ]
        client.ask("setExceptionBreakpoints", filters=[], filterOptions=options)
        while True:
            thread = client.stopped("exception", LONG)
            info = client.ask("exceptionInfo", threadId=thread)
            if info["exceptionId"] == "java.lang.IllegalStateException":
                break
            client.ask("continue", threadId=thread)  # of a class below it, thrown by the server
        number = int(info["description"].removeprefix("round "))
        assert number % 5 == 0
        if self.way != "late":  # where there is no probe, such an agent reads objects only
            assert self.number(thread) == number
        assert self.at(thread) == "THROW"
        client.ask("setExceptionBreakpoints", filters=[])
        self.go_on(thread)

    def watch(self, name: str) -> None:
        """A field that is written."""
        client = self.client
        thread = self.stop("ORDER" if self.prices else "PRICE")
        number = self.number(thread)
        this = client.locals(thread)["this"]["variablesReference"]
        info = client.ask("dataBreakpointInfo", variablesReference=this, name=name)
        wanted = [{"dataId": info["dataId"], "accessType": "write"}]
        body = client.ask("setDataBreakpoints", breakpoints=wanted)
        assert body["breakpoints"][0]["verified"], body
        client.breakpoints(path=self.source)
        # Each thread of a server writes it; those that have come to the line stay there.
        client.ask("continue", threadId=thread)
        written = "data breakpoint"
        stop = client.event("stopped", LONG, where=lambda body: body["reason"] == written)
        thread = stop["threadId"]
        # Scala writes it in a method of its own.
        frame = next(one for one in client.frames(thread) if ".round(" in one["name"])
        # Where a late agent has no probes, it knows of code from before no names.
        if self.way != "late":
            its = client.variables(client.scope(frame["id"]))["number"]["value"]
            assert int(its) >= number
        text = self.source.read_text().splitlines()[frame["line"] - 1]
        assert text.rpartition("// ")[2] in ("TOTAL", "CAUGHT", "SOLD"), text
        client.ask("setDataBreakpoints", breakpoints=[])
        self.go_on(thread)

    def inlined(self) -> None:
        """Lines of a function that the compiler has put into its caller."""
        client = self.client
        assert self.prices is not None
        wanted = line("RATE", self.prices)
        (found,) = client.breakpoints(wanted, path=self.prices)
        if self.prices.suffix == ".scala":
            # Its compiler gives inlined code the line of the call.
            assert not found["verified"], found
            thread = self.stop("CALL")
            seen = self.path(thread, "next")
            assert seen == ["LAMBDA", "SUM"], seen
            self.resume(thread)
            return
        assert found["verified"], found
        thread = client.stopped("breakpoint", LONG)
        top = client.top(thread)
        assert Path(top["source"]["path"]).name == self.prices.name, top
        assert top["line"] == wanted, top
        assert ".round(" in top["name"], top
        client.breakpoints(path=self.prices)
        seen = self.path(thread, "next")
        assert seen == ["BODY", "LAMBDA", "SUM"], seen
        self.resume(thread)
        thread = self.stop("CALL")
        client.breakpoints(path=self.source)
        seen = self.path(thread, "next")
        assert seen == ["LAMBDA", "SUM"], seen  # over what is inlined
        self.resume(thread)
        thread = self.stop("CALL")
        client.breakpoints(path=self.source)
        client.go("stepIn", thread)
        assert self.at(thread) == "RATE"
        self.resume(thread)

    def path(self, thread: int, command: str) -> list[str]:
        """Steps up to the sum, and where each ends."""
        seen = [""]
        while seen[-1] != "SUM":
            self.client.go(command, thread)
            at = self.at(thread)
            if at != seen[-1] and at.strip() != "}":
                seen.append(at)
            assert len(seen) < 12, seen
        return seen[1:]


def tour(name: str, program: Program, source: Path, prices: Path) -> None:
    """Debug a shop that prints its rounds."""
    client = program.client
    rounds = Rounds(program)
    program.begin("^round 1 sum")
    shop = Shop(client, source, prices, program.way)
    done = [
        shop.look,
        shop.step,
        shop.condition,
        shop.log,
        shop.exception,
        lambda: shop.watch("sum"),
        shop.inlined,
    ]
    for one in done:
        one()
        rounds.go_on(3)
    if program.way == "late":
        client.disconnect()
    count = rounds.go_on(100 if program.way == "late" else 10)
    program.end()
    report(f"  {name} {program.way}: {count} rounds, all right and in order")


def kotlin(jvm: jvms.Jvm, way: str) -> None:
    """Kotlin, whose compiler says in a source map where inlined lines are from."""
    jars = jars_of(KOTLIN)
    library = next(one for one in jars if one.name.startswith("kotlin-stdlib"))
    sources = [PROGRAMS / "Shop.kt", PROGRAMS / "Prices.kt"]
    java = jvms.named("17").java  # which its compiler knows
    command: list[str | Path]
    command = [java, "-cp", path_of(*jars), "org.jetbrains.kotlin.cli.jvm.K2JVMCompiler"]
    command += ["-no-stdlib", "-no-reflect", "-cp", library, *sources]
    classes = compiled("kotlin", command)
    run = [jvm.java, "-cp", path_of(classes, library), "shop.ShopKt"]
    tour("Kotlin", Program(run, way, Client(patience=LONG), sourcePaths=[str(PROGRAMS)]), *sources)


def scala(jvm: jvms.Jvm, way: str) -> None:
    """Scala 3."""
    jars = jars_of(SCALA)
    sources = [PROGRAMS / "Shop.scala", PROGRAMS / "Prices.scala"]
    java = jvms.named("17").java
    path = path_of(*jars)
    classes = compiled(
        "scala", [java, "-cp", path, "dotty.tools.dotc.Main", "-classpath", path, *sources]
    )
    libraries = [one for one in jars if "library" in one.name]
    run = [jvm.java, "-cp", path_of(classes, *libraries), "shop.main"]
    tour("Scala", Program(run, way, Client(patience=LONG), sourcePaths=[str(PROGRAMS)]), *sources)


# ---- Tomcat ------------------------------------------------------------------------------------


class Load:
    """Clients that ask a server all the time, and check what it answers.

    Args:
        port: where the server listens.
        clients: how many ask side by side.
    """

    def __init__(self, port: int, clients: int = 4) -> None:
        self.answers = 0
        self.wrong: list[str] = []
        self._port = port
        self._numbers = itertools.count(1)
        self._leaving = threading.Event()
        self._threads = [threading.Thread(target=self._ask, daemon=True) for _ in range(clients)]
        for one in self._threads:
            one.start()

    def _ask(self) -> None:
        while not self._leaving.is_set():
            number = next(self._numbers)
            url = f"http://127.0.0.1:{self._port}/round?n={number}"
            try:
                with urllib.request.urlopen(url, timeout=LONG) as answer:
                    text = answer.read().decode()
            except OSError as error:
                text = repr(error)
            if text != str(expected(number)) and not self._leaving.is_set():
                self.wrong.append(f"round {number} is {text}")
            self.answers += 1

    def rate(self, seconds: float = 1.5) -> float:
        """Answers a second from now on."""
        began, before = time.monotonic(), self.answers
        time.sleep(seconds)
        return (self.answers - before) / (time.monotonic() - began)

    def end(self) -> None:
        """Ask no more, and check that all answers were right."""
        self._leaving.set()
        for one in self._threads:
            one.join(LONG)
        assert not self.wrong, self.wrong[:3]


def tomcat(jvm: jvms.Jvm, way: str) -> None:
    """Tomcat under load, whose threads are virtual where the JVM has these."""
    jars = jars_of(TOMCAT)
    source = PROGRAMS / "ShopServer.java"
    command = [*compiler.compile_command(11, None), "-g", "-cp", path_of(*jars), source]
    classes = compiled("tomcat", command)
    for kind in ["platform", "virtual"][: 1 + (jvm.feature >= 21)]:
        base = BUILD / "tomcat-base"
        base.mkdir(exist_ok=True)
        more = ["virtual"] if kind == "virtual" else []
        path = path_of(classes, *jars)
        run = [jvm.java, "-Xmx512m", "-cp", path, "shop.ShopServer", base, *more]
        client = Client(patience=LONG)
        javac = compiler.javac_home(11)
        program = Program(
            run,
            way,
            client,
            sourcePaths=[str(PROGRAMS)],
            **({"javac": str(javac / "bin" / "javac")} if javac else {}),
        )
        program.begin(r"^port \d+")
        load = Load(int(program.wait_for(r"^port (\d+)")[1]))
        while load.answers < 500:
            time.sleep(0.05)
        before = load.rate()
        shop = Shop(client, source, None, way)
        shop.look()
        shop.step()
        shop.condition()
        shop.log()
        shop.exception()
        shop.watch("sold")
        thread = shop.stop("END")
        during = load.rate()  # this thread waits, and the others that come to the line
        client.breakpoints(path=source)
        shop.resume(thread)
        replaced = replace_code(client, source, load) if javac else "no javac here"
        after = load.rate()
        if way == "late":
            client.disconnect()
            left = load.rate()
        load.end()
        program.end()
        rates = f"{before:.0f}/s before, {after:.0f}/s after"
        if way == "late":
            rates += f", {left:.0f}/s without the debugger"
        report(
            f"  Tomcat with {kind} threads {way}: {load.answers:,} answers, all right; {rates}, "
            f"{during:.0f}/s while threads are stopped; {replaced}"
        )


def step(client: Client, command: str, thread: int) -> Any:
    """Step a thread until it stops, whatever other threads do meanwhile."""
    client.ask(command, threadId=thread)
    return client.event("stopped", LONG, where=lambda body: body["threadId"] == thread)


def resume_all(client: Client) -> None:
    """Let all threads run that have come to a stop meanwhile."""
    done = 0
    while True:
        time.sleep(0.3)
        stops = [one["body"]["threadId"] for one in client.events if one["event"] == "stopped"]
        if len(stops) == done:
            break
        for thread in dict.fromkeys(stops):
            try:
                client.ask("continue", threadId=thread)
            except Failed:
                pass  # it runs
        done = len(stops)
    client.seen = len(client.events)


def replace_code(client: Client, source: Path, load: Load) -> str:
    """Replace the code of the servlet by other code with the same results, and back."""
    changed = BUILD / "changed" / source.name
    changed.parent.mkdir(exist_ok=True)
    text = source.read_text()
    for one in (text.replace("count * 10;", "count * 5 + count * 5;"), text):
        changed.write_text(one)
        found = client.ask("redefineClasses", sources=[str(changed)])["classes"]
        assert all(one["redefined"] or one.get("unchanged") for one in found), found
        assert load.rate(0.5) > 0
    return "code replaced twice"


# ---- PySpark -----------------------------------------------------------------------------------


def spark(jvm: jvms.Jvm, way: str) -> None:
    """A PySpark driver: Python that has started a JVM, which runs Scala code."""
    client = Client(patience=LONG)
    run: list[str | Path] = ["env", f"JAVA_HOME={jvms.home_for_spark(jvm)}", sys.executable]
    run.append(PROGRAMS / "jobs.py")
    program = Program(run, way, client, main="SparkSubmit")
    program.begin(r"^round 1 sum")
    rounds = Rounds(program, lambda number: 1000 * number * (1000 * number - 1) // 2)
    rounds.go_on(2)
    # Each query of the driver is one call of it, by way of Py4J.
    name = "org.apache.spark.sql.classic.Dataset.collectToPython"
    client.ask("setFunctionBreakpoints", breakpoints=[{"name": name}])
    for _ in range(2):
        thread = client.stopped("function breakpoint", LONG)
        frames = client.frames(thread)
        assert any(one["name"].startswith("Gateway.invoke") for one in frames), frames
        assert client.evaluate(thread, "this.schema().size()")["result"] == "1"
        assert client.evaluate(thread, 'this.columns()[0].equals("sum(id)")')["result"] == "true"
        client.ask("continue", threadId=thread)
    thread = client.stopped("function breakpoint", LONG)
    client.go("next", thread)
    client.ask("setFunctionBreakpoints", breakpoints=[])
    client.ask("continue", threadId=thread)
    name = "org.apache.spark.scheduler.Task.run"
    client.ask("setFunctionBreakpoints", breakpoints=[{"name": name}])
    thread = client.stopped("function breakpoint", LONG)
    names = {one["id"]: one["name"] for one in client.ask("threads")["threads"]}
    assert names[thread].startswith("Executor task launch worker"), names[thread]
    assert "this" in client.locals(thread)
    client.ask("setFunctionBreakpoints", breakpoints=[])
    client.ask("continue", threadId=thread)
    resume_all(client)
    rounds.go_on(5)
    if way == "late":
        client.disconnect()
    count = rounds.go_on(10)
    program.end()
    report(f"  PySpark {way}: {count} queries, all right; {len(names)} threads")


# ---- the Eclipse compiler ----------------------------------------------------------------------


def ecj(jvm: jvms.Jvm, way: str) -> None:
    """The Eclipse compiler, which compiles the tests' programs over and over."""
    if jvm.feature < 17:
        report("  ECJ: it needs Java 17")
        return
    jar = jvms.INSTALLED / "ecj" / "ecj.jar"
    out = BUILD / "ecj"
    out.mkdir(exist_ok=True)
    source = compiler.SOURCES / "Debugged.java"
    options: list[str | Path]
    options = ["-11", "-proc:none", "-nowarn", "-g", "-verbose", "-d", out, "-repeat", "100000"]
    program = Program([jvm.java, "-jar", jar, *options, source], way, Client(patience=LONG))
    client = program.client
    program.begin(r"^\[1")
    name = "org.eclipse.jdt.internal.compiler.Compiler.process"
    client.ask("setFunctionBreakpoints", breakpoints=[{"name": name}])
    for _ in range(3):
        thread = client.stopped("function breakpoint", LONG)
        found = client.evaluate(thread, "this.totalUnits")["result"]
        assert int(found) >= 1
        assert "CompilationUnit" in client.locals(thread)["unit"]["value"]
        shown = client.evaluate(thread, "unit.toString().length() > 100")
        assert shown["result"] == "true"
        names = [one["name"] for one in client.frames(thread)]
        assert "ProcessTaskManager.processing()" in names, names
        client.ask("continue", threadId=thread)
    thread = client.stopped("function breakpoint", LONG)
    for command in ("next", "stepIn", "stepOut", "next"):
        about = step(client, command, thread).get("description", "")
        assert client.top(thread)["line"] > 0
        if way == "late" and about.startswith("about to leave"):
            break  # to callers that began before the debugger came, which no step ends in
    client.ask("setFunctionBreakpoints", breakpoints=[])
    client.ask("continue", threadId=thread)
    if way == "late":
        client.disconnect()
    made = out / "Debugged.class"
    before = made.stat().st_mtime_ns
    until = time.monotonic() + LONG
    while made.stat().st_mtime_ns == before:
        assert time.monotonic() < until, "it compiles no more"
        time.sleep(0.05)
    time.sleep(1)
    program.end()
    report(f"  ECJ {way}: it goes on compiling")


# ---- 100,000 virtual threads -------------------------------------------------------------------


def crowd(jvm: jvms.Jvm, way: str) -> None:
    """100,000 virtual threads, of which one works."""
    if jvm.feature < 21:
        return
    command = [*compiler.compile_command(21, None), "-g", PROGRAMS / "Crowd.java"]
    classes = compiled("crowd", command)
    client = Client(patience=LONG)
    run = [jvm.java, "-Xmx2g", "-cp", classes, "Crowd", "100000"]
    program = Program(run, way, client, sourcePaths=[str(PROGRAMS)])
    program.begin("^worked 1$")
    took = []
    for _ in range(5):
        began = time.monotonic()
        listed = client.ask("threads")["threads"]
        took.append(time.monotonic() - began)
    source = PROGRAMS / "Crowd.java"
    began = time.monotonic()
    client.breakpoints(line("WORK", source), path=source)
    thread = client.stopped("breakpoint", LONG)
    stopping = time.monotonic() - began
    began = time.monotonic()
    frames = client.frames(thread)
    assert frames[0]["name"] == "Crowd.work(int)", frames
    number = client.locals(thread)["number"]["value"]
    showing = time.monotonic() - began
    listed = client.ask("threads")["threads"]
    assert thread in [one["id"] for one in listed]
    assert len(listed) < 200, len(listed)
    client.go("next", thread)
    assert client.locals(thread)["twice"]["value"] == str(2 * int(number))
    client.breakpoints(path=source)
    began = time.monotonic()
    client.ask("continue", threadId=thread)
    program.wait_for(rf"^worked {int(number) + 5}$")
    if way == "late":
        client.disconnect()
        program.wait_for(rf"^worked {int(number) + 50}$")
    program.end()
    report(
        f"  100,000 virtual threads {way}: threads in {1000 * min(took):.0f} to "
        f"{1000 * max(took):.0f} ms, {len(listed)} listed; a stop after {1000 * stopping:.0f} ms, "
        f"its stack and variables after {1000 * showing:.0f} ms"
    )


PARTS: dict[str, Callable[[jvms.Jvm, str], None]] = {
    "kotlin": kotlin,
    "scala": scala,
    "tomcat": tomcat,
    "ecj": ecj,
    "spark": spark,
    "crowd": crowd,
}


def main() -> None:
    """Debug what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jvms", default="17,21,25")
    parser.add_argument("--only", default=",".join(PARTS))
    parser.add_argument("--ways", default="launched,late")
    chosen = parser.parse_args()
    failed = 0
    for jvm in map(jvms.named, chosen.jvms.split(",")):
        report(f"JVM {jvm}")
        for name in chosen.only.split(","):
            for way in chosen.ways.split(","):
                try:
                    PARTS[name](jvm, way)
                except Exception:  # the others are worth their time
                    report(f"  {name} {way} FAILED", traceback.format_exc())
                    failed += 1
                for one in tuple(Program.running):
                    one.kill()
    sys.exit(min(failed, 1))


if __name__ == "__main__":
    main()
