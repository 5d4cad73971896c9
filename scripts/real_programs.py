"""Inspect three big third-party programs, and write docs/real_programs.md.

    python scripts/real_programs.py [--only spark,tomcat,javac] [--scratch DIRECTORY]

Each works meanwhile: a PySpark driver runs jobs, Apache Tomcat serves pages under load, javac
compiles the sources of Apache Lucene.  Everything is downloaded into the scratch directory (pip
and Maven are needed) and runs on the JDK that `make java` installs.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
import venv
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

import jvms  # noqa: E402
import jvmti  # noqa: E402
import maven  # noqa: E402
from package import mixed_session  # noqa: E402

PYSPARK = "3.5.3"
TOMCAT = "10.1.30"
LUCENE = "9.11.1"
PAGE = ROOT / "docs" / "real_programs.md"


@dataclass
class Outcome:
    """What came of looking at one program."""

    program: str
    way_in: str
    doing: str
    jvm: str
    seen: mixed_session.Seen
    #: How long the mixed session took, in seconds.
    took: float
    #: What each function gave: the conformance command's outcomes, counted.
    functions: Counter[str]
    #: What shows that the program went on with its work.
    went_on: str


# ---- what is needed ----------------------------------------------------------------------------


def from_maven(artifact: str, scratch: Path) -> Path:
    """The file of an artifact."""
    (file,) = maven.fetched([artifact], scratch / "downloads")
    return file


def jdk() -> Path:
    home = jvms.distribution_jdk()
    if home is None:
        raise SystemExit("there is no JDK; `make java` installs one")
    return home


def listening_environment() -> dict[str, str]:
    """JVMs that start with this have the agent, listening, with every capability reserved."""
    options = jvmti.AgentOptions(listen="", reserve=())
    return {
        **os.environ,
        "JAVA_HOME": str(jdk()),
        "JAVA_TOOL_OPTIONS": jvmti.java_tool_options(options),
    }


def wait_for(what: str, condition: Callable[[], object], seconds: float = 180) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise SystemExit(f"waited {seconds:g} s in vain for {what}")
        time.sleep(0.1)


def jvm_below(ancestor: int, main: str) -> int:
    """The pid of the JVM with that main class that a process has started."""
    for process in jvmti.processes():
        if main not in process.main:
            continue
        pid = process.pid
        while pid > 1:
            if pid == ancestor:
                return process.pid
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return 0


# ---- the look ----------------------------------------------------------------------------------


def look(
    vm: jvmti.VM, program: str, way_in: str, doing: str, went_on: Callable[[], str]
) -> Outcome:
    """The mixed session, the conformance command, and then whether the program goes on."""
    version = vm.env.get_system_property("java.vm.version")
    name = vm.env.get_system_property("java.vm.name")
    began = time.monotonic()
    seen = mixed_session.look_at_everything(vm, most_methods=500_000, most_objects=50_000)
    took = time.monotonic() - began
    functions = conformance(vm.process.pid)
    return Outcome(program, way_in, doing, f"{name} {version}", seen, took, functions, went_on())


def conformance(pid: int) -> Counter[str]:
    """The outcomes of the conformance command, a controller of its own beside our session."""
    done = subprocess.run(
        [sys.executable, "-m", "jvmti", "conformance", str(pid), "--json"],
        stdout=subprocess.PIPE,
        text=True,
        timeout=300,
    )
    rows = json.loads(done.stdout)["functions"]
    broken = [f"{row['function']}: {row['detail']}" for row in rows if row["outcome"] == "BROKEN"]
    if done.returncode or broken:
        raise SystemExit(f"the conformance command gives {done.returncode}: {broken}")
    return Counter(row["outcome"] for row in rows)


# ---- PySpark -----------------------------------------------------------------------------------

JOBS = """
import sys
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[2]").appName("jobs").getOrCreate()
spark.sparkContext.setLogLevel("ERROR")
number = 0
while True:
    rows = spark.range(2_000_000).selectExpr("id % 1000 as k", "id * 3 as v")
    rows.join(rows.groupBy("k").count(), "k").groupBy("k").sum("v").orderBy("k").collect()
    number += 1
    print("jobs", number, flush=True)
"""


@contextmanager
def counting(process: subprocess.Popen[str], pattern: str) -> Iterator[Callable[[], int]]:
    """Counts the lines that a process prints; all of its children end with it."""
    count = [0]

    def read() -> None:
        assert process.stdout is not None
        for line in process.stdout:
            count[0] += bool(re.match(pattern, line))

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    try:
        yield lambda: count[0]
    finally:
        # Its own session, so nothing else is in the group.
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        reader.join(5)


def spark(scratch: Path) -> Outcome:
    place = scratch / "spark"
    python = place / "bin" / "python"
    if not list(place.glob("lib/python*/site-packages/pyspark")):
        venv.create(place, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "-q", f"pyspark=={PYSPARK}"], check=True)
    process = subprocess.Popen(
        [python, "-c", JOBS],
        env=listening_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    with counting(process, "jobs ") as jobs:
        wait_for("the first jobs", lambda: jobs() >= 2)
        with jvmti.attach(jvm_below(process.pid, "SparkSubmit"), timeout=60) as vm:
            assert vm.loaded_at_startup

            def went_on() -> str:
                before = jobs()
                wait_for("more jobs", lambda: jobs() >= before + 2)
                return f"{jobs()} jobs done, those after the session among them"

            return look(
                vm,
                f"PySpark {PYSPARK}, the driver",
                "`JAVA_TOOL_OPTIONS` (listen, reserve); `spark-submit` starts two JVMs",
                "joins and aggregations over two million rows, on two threads",
                went_on,
            )


# ---- Tomcat ------------------------------------------------------------------------------------

PAGES = (
    "examples/servlets/servlet/HelloWorldExample",
    "examples/servlets/servlet/SessionExample",
    "examples/jsp/jsp2/el/basic-arithmetic.jsp",
    "docs/",
)


def unpacked_tomcat(scratch: Path) -> tuple[Path, int]:
    """A new Tomcat, and the port that it will listen on."""
    archive = from_maven(f"org.apache.tomcat:tomcat:{TOMCAT}:zip", scratch)
    home = scratch / f"apache-tomcat-{TOMCAT}"
    shutil.rmtree(home, ignore_errors=True)
    with zipfile.ZipFile(archive) as zipped:
        zipped.extractall(scratch)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = home / "conf" / "server.xml"
    text = settings.read_text().replace('port="8005"', 'port="-1"')
    settings.write_text(text.replace('port="8080"', f'port="{port}" address="127.0.0.1"'))
    return home, port


def tomcat(scratch: Path) -> Outcome:
    home, port = unpacked_tomcat(scratch)
    process = subprocess.Popen(
        ["sh", home / "bin" / "catalina.sh", "run"],
        env=listening_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    answers = [0]
    leaving = threading.Event()

    def ask(page: str) -> None:
        while not leaving.is_set():
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/{page}", timeout=60) as got:
                    got.read()
                answers[0] += 1
            except OSError:
                time.sleep(0.2)  # it is starting, or it has left

    with counting(process, ""):
        clients = [threading.Thread(target=ask, args=(page,), daemon=True) for page in PAGES]
        for client in clients:
            client.start()
        try:
            wait_for("answers", lambda: answers[0] >= 200)
            with jvmti.attach(jvm_below(process.pid, "catalina"), timeout=60) as vm:
                assert vm.loaded_at_startup

                def went_on() -> str:
                    before = answers[0]
                    wait_for("more answers", lambda: answers[0] >= before + 200)
                    return f"{answers[0]} pages served, none failed"

                return look(
                    vm,
                    f"Apache Tomcat {TOMCAT}",
                    "`JAVA_TOOL_OPTIONS` (listen, reserve), through `catalina.sh`",
                    "servlets, sessions and JSPs for four clients",
                    went_on,
                )
        finally:
            leaving.set()


def processor_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


# ---- javac -------------------------------------------------------------------------------------


def lucene(scratch: Path) -> tuple[list[str], list[str | Path]]:
    """The sources of Lucene, and what follows javac to compile them."""
    archive = from_maven(f"org.apache.lucene:lucene-core:{LUCENE}:jar:sources", scratch)
    sources = scratch / "lucene"
    if not sources.exists():
        with zipfile.ZipFile(archive) as zipped:
            zipped.extractall(sources)
    files = sorted(map(str, (sources / "org").rglob("*.java")))
    listing = scratch / "files"
    listing.write_text("\n".join(files))
    output = scratch / "classes"
    shutil.rmtree(output, ignore_errors=True)
    words = ["-proc:none", "-nowarn", "-XDignore.symbol.file", "-J-Xmx1g"]
    return files, [*words, "-d", output, f"@{listing}"]


def javac(scratch: Path) -> Outcome:
    files, words = lucene(scratch)
    vm = jvmti.launch(
        [jdk() / "bin" / "javac", *words],
        capabilities="all",
        stderr=subprocess.DEVNULL,
        timeout=60,
    )
    with vm:
        assert vm.popen is not None
        popen = vm.popen
        wait_for("javac at work", lambda: processor_seconds(popen.pid) > 12)

        outcome = look(
            vm,
            f"javac on the {len(files)} files of Apache Lucene {LUCENE}",
            "`jvmti.launch`, held in the OnLoad phase, every capability taken",
            "compiling",
            lambda: "",
        )
        still = popen.poll() is None
    status = popen.wait(600)
    classes = len(list((scratch / "classes").rglob("*.class")))
    assert status == 0, f"javac ended with status {status}"
    assert still, "javac had finished before the session"
    outcome.went_on = f"it compiled to its end: status 0, {classes} class files"
    return outcome


# ---- the page ----------------------------------------------------------------------------------

HEAD = """# Real programs

Three third-party programs, inspected at work: `python
scripts/real_programs.py` downloads them, runs them, looks into each through this package and writes
this page. A small version of the same runs with the tests (`tests/package/test_real_programs.py`).

A session takes all threads with their stacks; every loaded class with its methods, their line
tables and bytecodes, its fields and its constant pool; and the objects in static fields with their
own fields and texts. The script checks that the answers make sense: a line begins inside of its
method, a constant pool ends where its last entry does, a string has the length that Java says.
Meanwhile `jvmti conformance`, a second controller, calls every function of JVM TI and JNI in the
same JVM. Afterwards the program continues. [Their heaps](heap_real_programs.md) have a
page of their own.

"""


def page(outcomes: list[Outcome]) -> str:
    parts = [HEAD]
    for one in outcomes:
        seen = one.seen
        parts.append(f"## {one.program}\n\n")
        rows = {
            "JVM": one.jvm,
            "way in": one.way_in,
            "what it did": one.doing,
            "threads, frames": f"{seen.threads:,}, {seen.frames:,}",
            "classes, methods": f"{seen.classes:,}, {seen.methods:,}",
            "constants in their pools": f"{seen.constants:,}",
            "entries of line tables": f"{seen.lines:,}",
            "fields of classes": f"{seen.fields:,}",
            "live objects, values of their fields, texts": (
                f"{seen.objects:,}, {seen.values:,}, {seen.texts:,}"
            ),
            "rows without an answer": ", ".join(
                f"{count:,} {name}" for name, count in sorted(seen.absent.items())
            )
            or "none",
            "all of that took": f"{one.took:.1f} s",
            "functions called by `jvmti conformance`": ", ".join(
                f"{count} {name}" for name, count in one.functions.most_common()
            ),
            "afterwards": one.went_on,
        }
        parts.append("| | |\n|---|---|\n")
        parts += [f"| {name} | {text} |\n" for name, text in rows.items()]
        parts.append("\n")
    return "".join(parts).rstrip() + "\n"


PROGRAMS = {"spark": spark, "tomcat": tomcat, "javac": javac}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--only", default=",".join(PROGRAMS), help="some of them: spark,tomcat")
    parser.add_argument("--scratch", type=Path, help="where downloads go and stay")
    chosen = parser.parse_args()
    names = chosen.only.split(",")
    with tempfile.TemporaryDirectory() as temporary:
        scratch = chosen.scratch or Path(temporary)
        scratch.mkdir(parents=True, exist_ok=True)
        outcomes = []
        for name in names:
            outcome = PROGRAMS[name](scratch.absolute())
            print(page([outcome]).removeprefix(HEAD), flush=True)
            outcomes.append(outcome)
    if names == [*PROGRAMS]:
        PAGE.parent.mkdir(exist_ok=True)
        PAGE.write_text(page(outcomes))


if __name__ == "__main__":
    main()
