"""Analyze the heaps of three big third-party programs, and write a page about them.

    python scripts/heap_reports.py [--only spark,tomcat,javac] [--scratch DIRECTORY]

The programs are those of scripts/real_programs.py: a PySpark driver, this time with a cached data
set, Apache Tomcat under load, and javac.  What is done to each is what a user would type, and
what docs/heap_real_programs.md has is what came of it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

import jvms  # noqa: E402
import real_programs  # noqa: E402
from jvmti.text.quantities import duration  # noqa: E402
from real_programs import (  # noqa: E402
    LUCENE,
    PYSPARK,
    TOMCAT,
    counting,
    jvm_below,
    wait_for,
)

PAGE = ROOT / "docs" / "heap_real_programs.md"
VERBS = {
    "summary": ["--top", "8"],
    "dominators": ["--top", "8"],
    "leaks": [],
    "duplicate-strings": ["--top", "3"],
    "collections": [],
}


@dataclass
class Program:
    """A program that has come to where its heap is of interest."""

    title: str
    jvm: jvms.Jvm
    doing: str
    #: What its heap shows, in words.
    meaning: str
    pid: int


def jvm(name: str) -> jvms.Jvm:
    found = jvms.named(name)
    if found.missing:
        raise SystemExit(f"Java {name} is missing: {found.missing}")
    return found


# What the figures mean; they change from run to run, this does not.
MEANING = {
    "spark": (
        "The cached data frame fills the heap, as intended: an array of batches for each of its "
        "two partitions, held by the memory store. The loaders with twins hold code that Spark "
        "generates for queries."
    ),
    "tomcat": (
        "Two thirds of the heap are sessions that no client uses again, and the path names the "
        "manager that keeps them. They expire after half an hour; until then this looks like any "
        "leak."
    ),
    "javac": (
        "The suspect is harmless: the file manager keeps source texts behind soft references, and"
        " the collector has had no reason yet to clear them. Most of the rest is syntax trees and"
        " symbols."
    ),
}


# ---- the programs ------------------------------------------------------------------------------

CACHED = """
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
spark.sparkContext.setLogLevel("ERROR")
rows = spark.range(5_000_000).selectExpr(
    "id", "concat('customer ', id % 5000) as name", "id * 0.5 as price")
rows.cache().count()
pairs = spark.sparkContext.parallelize(range(500_000), 4).map(lambda n: (n, str(n)))
pairs.cache().count()
number = 0
while True:
    rows.groupBy("name").sum("price").orderBy("name").collect()
    number += 1
    print("jobs", number, flush=True)
"""


@contextmanager
def spark(scratch: Path) -> Iterator[Program]:
    place = scratch / "spark"
    python = place / "bin" / "python"
    if not list(place.glob("lib/python*/site-packages/pyspark")):
        venv.create(place, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "-q", f"pyspark=={PYSPARK}"], check=True)
    on = jvm("17")
    process = subprocess.Popen(
        [python, "-c", CACHED],
        env={**os.environ, "JAVA_HOME": str(on.home)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    with counting(process, "jobs ") as jobs:
        wait_for("the first jobs", lambda: jobs() >= 2)
        pid = jvm_below(process.pid, "SparkSubmit")
        doing = (
            "a data frame of five million rows and half a million Python tuples are cached, and "
            "the frame is aggregated again and again"
        )
        yield Program(f"PySpark {PYSPARK}, the driver", on, doing, MEANING["spark"], pid)


@contextmanager
def tomcat(scratch: Path) -> Iterator[Program]:
    on = jvm("25")
    home, port = real_programs.unpacked_tomcat(scratch)
    process = subprocess.Popen(
        ["sh", home / "bin" / "catalina.sh", "run"],
        env={**os.environ, "JRE_HOME": str(on.home)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    page = f"http://127.0.0.1:{port}/examples/servlets/servlet/SessionExample"
    answers = [0]
    leaving = threading.Event()

    def ask() -> None:
        while not leaving.is_set():
            name = f"name-{answers[0]}"
            try:
                # Nobody sends the cookie back, so each answer has made a session.
                url = f"{page}?dataname={name}&datavalue={'x' * 200}"
                with urllib.request.urlopen(url, timeout=60) as got:
                    got.read()
                answers[0] += 1
            except OSError:
                time.sleep(0.2)  # it is starting, or it has left

    with counting(process, ""):
        clients = [threading.Thread(target=ask, daemon=True) for _ in range(3)]
        for client in clients:
            client.start()
        try:
            wait_for("answers", lambda: answers[0] >= 20_000)
            doing = (
                "three clients ask for a page with a session, and never send the cookie back; "
                "20,000 pages so far"
            )
            pid = jvm_below(process.pid, "catalina")
            yield Program(f"Apache Tomcat {TOMCAT}", on, doing, MEANING["tomcat"], pid)
        finally:
            leaving.set()


@contextmanager
def javac(scratch: Path) -> Iterator[Program]:
    files, words = real_programs.lucene(scratch)
    on = jvms.Jvm("17", real_programs.jdk())
    process = subprocess.Popen(
        [on.home / "bin" / "javac", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    with counting(process, ""):
        wait_for("javac at work", lambda: real_programs.processor_seconds(process.pid) > 12)
        title = f"javac on the {len(files)} files of Apache Lucene {LUCENE}"
        doing = "12 seconds of processor time after its start"
        yield Program(title, on, doing, MEANING["javac"], process.pid)


# ---- the look ----------------------------------------------------------------------------------


def command(*words: object) -> tuple[Any, float]:
    """What a verb of ``jvmti heap`` prints as JSON, and for how many seconds it ran."""
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "jvmti", "heap", *map(str, words), "--json"],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(done.stdout), time.monotonic() - began


def look(program: Program, dump: Path) -> str:
    """The part of the page about one program."""
    dumped, took = command("dump", program.pid, dump)
    page = dump.with_suffix(".html")
    report, report_took = command("report", dump, "-o", page, "--title", program.title)
    found = {verb: command(verb, dump, *words)[0] for verb, words in VERBS.items()}
    summary = found["summary"]
    facts = {
        "JVM": f"HotSpot {program.jvm.feature}",
        "what it did": program.doing,
        "objects, bytes": f"{summary['objects']:,}, {summary['bytes']:,}",
        "garbage": f"{summary['unreachable']:,} objects, left out",
        "roots, threads, loaders": ", ".join(
            f"{summary[name]:,}" for name in ("roots", "threads", "loaders")
        ),
        "`jvmti heap dump`": f"{dumped['bytes'] / 1e6:,.0f} MB in {duration(took)}; the program "
        f"was stopped for at most {duration(dumped['pause'])}",
        "`jvmti heap report`": f"{report['bytes'] / 1e6:,.2f} MB in {duration(report_took)}",
    }
    lines = [f"## {program.title}", "", program.meaning, "", "| | |", "|---|---|"]
    lines += [f"| {name} | {text} |" for name, text in facts.items()]
    lines += ["", "`jvmti heap summary`:", "", "| objects | bytes | retained | class |"]
    lines += ["|---:|---:|---:|---|"]
    for row in summary["classes"]:
        numbers = (f"{row[name]:,}" for name in ("count", "bytes", "retained"))
        lines.append(f"| {' | '.join(numbers)} | `{row['name']}` |")
    points = found["dominators"]
    lines += ["", "`jvmti heap dominators`:", "", "| retained | of all | objects below | object |"]
    lines += ["|---:|---:|---:|---|"]
    for row in points["accumulation_points"]:
        part = f"{row['retained'] / points['total']:.1%}"
        lines.append(f"| {row['retained']:,} | {part} | {row['children']:,} | `{row['class']}` |")
    lines += ["", "`jvmti heap leaks`, with the paths from the roots:", ""]
    for suspect in found["leaks"]["suspects"][:4]:
        pieces = f" in {suspect['children']:,} of `{suspect['children_class']}`"
        way = " → ".join(f"{one['reference']} {_last(one['class'])}" for one in suspect["path"])
        lines.append(
            f"- `{suspect['class']}` holds {suspect['part']:.0%}"
            f"{pieces if suspect['children'] else ' by itself'}: `{way}`"
        )
    loaders = found["leaks"]["loaders"]
    if loaders:
        twins = sum(1 for one in loaders if one["twins"])
        lines.append(f"- {len(loaders):,} loaders are out of use, {twins:,} of them have twins")
    text = found["duplicate-strings"][0]
    wasteful = found["collections"][0]
    said = (
        f"The most wasteful text, {text['text'][:40]!r}, is there {text['count']:,} times "
        f"({text['wasted']:,} bytes). Of {wasteful['count']:,} `{wasteful['class']}` "
        f"{wasteful['empty']:,} are empty; unused places take {wasteful['wasted']:,} bytes."
    )
    lines += ["", said, ""]
    return "\n".join(lines)


def _last(name: str) -> str:
    return name.rpartition(".")[2]


HEAD = """# Heaps of real programs

What `jvmti heap` reports about three third-party programs while they work: `python
scripts/heap_reports.py` downloads them, runs them and writes this page. The script dumps each by
name or pid, and asks everything else of the file:

```sh
jvmti heap dump SparkSubmit spark.hprof
jvmti heap report spark.hprof -o spark.html
jvmti heap summary spark.hprof --top 8
jvmti heap dominators spark.hprof --top 8
jvmti heap leaks spark.hprof
```

Times are those of the whole command on a machine with two processors, which the program under study
keeps busy during its dump. A suspect is not a verdict: a cache that is meant to be there looks the
same.

"""

PROGRAMS = {"spark": spark, "tomcat": tomcat, "javac": javac}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--only", default=",".join(PROGRAMS), help="some of them: spark,tomcat")
    parser.add_argument("--scratch", type=Path, help="where downloads, dumps and reports stay")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        scratch = (chosen.scratch or Path(temporary)).absolute()
        scratch.mkdir(parents=True, exist_ok=True)
        parts = []
        for name in chosen.only.split(","):
            dump = scratch / f"{name}.hprof"
            for old in (dump, dump.with_suffix(".html")):
                old.unlink(missing_ok=True)
            with PROGRAMS[name](scratch) as program:
                parts.append(look(program, dump))
            print(parts[-1], flush=True)
    if chosen.only.split(",") == [*PROGRAMS]:
        PAGE.write_text(HEAD + "\n".join(parts))


if __name__ == "__main__":
    main()
