"""A Spark job gives the same rows when all code of Spark and Scala has probes, and its methods are
called in the same order as by the VM's own events.

    python tests/integrations/spark_witness.py [--only everything,order]

It needs the packages of the group ``spark``, and minutes.  ``everything`` instruments the jars and
runs the job from them.  ``order`` runs it in a JVM that was started for method events, and in one
that was attached to while it ran.
"""

from __future__ import annotations

import argparse
import difflib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS)]

import compiler  # noqa: E402
import jvms  # noqa: E402
import jvmti  # noqa: E402
from instrumentation.test_real_programs import PROBES  # noqa: E402
from jvmti.instrumentation.archives import instrument_file  # noqa: E402
from programs import VARIABLES  # noqa: E402

ROWS = 20_000
CLASSES = (
    "org.apache.spark.scheduler.DAGScheduler",
    "org.apache.spark.scheduler.TaskSetManager",
    "org.apache.spark.sql.execution.QueryExecution",
    "org.apache.spark.sql.classic.Dataset",
)
"""Their methods are called by Spark's scheduler and by the thread that serves Python."""
THREADS = re.compile(r"dag-scheduler-event-loop|Thread-\d+")


# ---- the job -------------------------------------------------------------------------------------


def job(spark: Any) -> list[Any]:
    """The rows of some queries: sums by group, a join, sorted words."""
    from pyspark.sql import functions

    numbers = spark.range(ROWS).withColumn("key", functions.col("id") % 97)
    sums = numbers.groupBy("key").agg(functions.sum("id"), functions.count("*")).orderBy("key")
    names = spark.createDataFrame(
        [(key, f"name {key * key}") for key in range(97)], ["key", "name"]
    )
    joined = numbers.join(names, "key").groupBy("name").agg(functions.max("id")).orderBy("name")
    words = spark.sparkContext.parallelize([f"w{n % 1013}" for n in range(ROWS)], 4)
    counted = words.map(lambda word: (word, 1)).reduceByKey(lambda a, b: a + b).sortByKey()
    return [list(map(list, one.collect())) for one in (sums, joined, counted)]


def calls_by_probes(vm: Any, run: Callable[[], None]) -> list[tuple[str, int, str]]:
    """Thread, time of the beginning and method of each call, recorded by probes."""
    found: list[Any] = []
    with vm.trace(*(f"{name}.*" for name in CLASSES), arguments=False, limit=None) as trace:
        done = threading.Event()

        def read() -> None:
            while not done.is_set():
                found.extend(trace.read(0.1))

        reader = threading.Thread(target=read)
        reader.start()
        run()
        time.sleep(1)
        done.set()
        reader.join()
        found.extend(trace.read(0.1))
        assert trace.dropped == 0
    return [
        (one.thread, one.time - one.duration, f"{one.class_name}.{one.method}{one.descriptor}")
        for one in found
    ]


def calls_by_events(vm: Any, run: Callable[[], None]) -> list[tuple[str, int, str]]:
    """The same by the VM's events."""
    env = vm.new_env()
    env.add_capabilities({"can_generate_method_entry_events"})
    found = []
    with env.stream("MethodEntry", classes=list(CLASSES)) as stream:
        done = threading.Event()
        events: list[Any] = []

        def read() -> None:
            while not done.is_set():
                events.append(stream.read(0.1))

        reader = threading.Thread(target=read)
        reader.start()
        run()
        time.sleep(1)
        done.set()
        reader.join()
        events.append(stream.read(0.1))
        assert stream.dropped == 0
        columns = ("thread", "method_class", "method", "method_signature")
        for block in events:
            for thread, owner, name, signature in zip(
                *(block[column][:] for column in columns), strict=True
            ):
                if not name.startswith("<"):
                    found.append((thread, len(found), f"{owner}.{name}{signature}"))
    return found


def drive(way: str, to: Path) -> None:
    """Run the job in this process's Spark, and write down what came of it."""
    from pyspark.sql import SparkSession

    spark = (
        SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.adaptive.enabled", "false")
        .config("spark.sql.shuffle.partitions", "4")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    rows = job(spark)
    order: dict[str, list[str]] = {}
    if way in ("probes", "events"):
        for _ in range(2):  # what is done at first use is done then
            job(spark)
        with jvmti.attach_spark(spark, timeout=120) as vm:
            vm.timeout = 300

            def run() -> None:
                assert job(spark) == rows

            calls = (calls_by_probes if way == "probes" else calls_by_events)(vm, run)
        for thread, _, method in sorted(calls, key=lambda one: one[1]):
            if THREADS.fullmatch(thread):
                kind = "scheduler" if thread.startswith("dag") else "python"
                order.setdefault(kind, []).append(method)
    to.write_text(json.dumps({"rows": rows, "order": order}))
    spark.stop()


# ---- what is compared ----------------------------------------------------------------------------


def driven(way: str, folder: Path, home: Path | None = None, options: str = "") -> tuple[Any, str]:
    """What came of the job in a process of its own, and what was printed."""
    kept = {name: value for name, value in os.environ.items() if name not in VARIABLES}
    kept |= {
        "JAVA_HOME": str(jvms.distribution_jdk()),
        "JAVA_TOOL_OPTIONS": options,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_SUBMIT_ARGS": "--driver-memory 2g pyspark-shell",
        "PYSPARK_PYTHON": sys.executable,
    }
    if home is not None:
        kept["SPARK_HOME"] = str(home)
    to = folder / f"{way}.json"
    done = subprocess.run(
        [sys.executable, __file__, "--drive", way, "--to", to],
        cwd=folder,
        env=kept,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{way}: {done.stdout}{done.stderr}")
    return json.loads(to.read_text()), done.stdout + done.stderr


def instrumented_home(folder: Path) -> tuple[Path, int, int]:
    """Spark's folder with probes in all of its jars and Scala's; how many jars and classes."""
    spec = importlib.util.find_spec("pyspark")
    assert spec is not None
    assert spec.origin is not None
    origin = Path(spec.origin).parent
    home = folder / "spark"
    (home / "jars").mkdir(parents=True)
    for one in origin.iterdir():
        if one.name != "jars":
            (home / one.name).symlink_to(one)
    jars = classes = 0
    for jar in sorted((origin / "jars").iterdir()):
        if jar.name.startswith(("spark-", "scala-")):
            done = instrument_file(jar, home / "jars" / jar.name, PROBES)
            assert not done.unreadable, done.unreadable
            jars, classes = jars + 1, classes + done.changed
        else:
            (home / "jars" / jar.name).symlink_to(jar)
    counting = home / "jars" / "counting.jar"
    shutil.make_archive(str(counting), "zip", compiler.classes("Counting"))
    (home / "jars" / "counting.jar.zip").rename(counting)
    return home, jars, classes


def everything(folder: Path) -> None:
    """The same rows with probes in every place of the code."""
    began = time.monotonic()
    plain, _ = driven("plain", folder)
    took = time.monotonic() - began
    home, jars, classes = instrumented_home(folder)
    began = time.monotonic()
    probed, said = driven("instrumented", folder, home)
    assert probed["rows"] == plain["rows"]
    lines = [line.split()[1:] for line in said.splitlines() if line.startswith("counted")]
    # Spark's launcher is a JVM of its own, which does little.
    entered, left, unwound, *others = max(list(map(int, one)) for one in lines)
    assert all(others), others
    print(
        f"{sum(map(len, plain['rows'])):,} rows are the same with probes in {classes:,} classes of "
        f"{jars} jars: {entered:,} calls, {unwound:,} of them ended by exceptions, "
        f"{sum(others):,} lines, fields, objects and monitors; "
        f"{entered - left - unwound:,} calls had not ended; {time.monotonic() - began:.0f} s "
        f"instead of {took:.0f} s",
        flush=True,
    )


def order(folder: Path) -> None:
    """The same calls in the same order as by the VM's events."""
    reserved = jvmti.java_tool_options(jvmti.AgentOptions(listen="", reserve=()))
    events, _ = driven("events", folder, options=reserved)
    probes, _ = driven("probes", folder)
    assert probes["rows"] == events["rows"]
    for kind, methods in events["order"].items():
        ours = probes["order"][kind]
        differ = [*difflib.unified_diff(methods, ours, n=1, lineterm="")]
        assert ours == methods, (kind, len(methods), len(ours), differ[:20])
        print(
            f"{kind}: {len(methods):,} calls of {len(set(methods))} methods, in the same order as "
            "by the VM's events",
            flush=True,
        )


def main() -> None:
    """Compare, and say what was the same."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="everything,order")
    parser.add_argument("--drive", help=argparse.SUPPRESS)
    parser.add_argument("--to", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.drive:
        drive(given.drive, given.to)
        return
    with tempfile.TemporaryDirectory() as name:
        for part in given.only.split(","):
            {"everything": everything, "order": order}[part](Path(name))


if __name__ == "__main__":
    main()
