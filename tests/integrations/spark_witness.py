"""A Spark job gives the same rows when all code of Spark and Scala has probes, and its methods are
called in the same order as by the VM's own events.

    python tests/integrations/spark_witness.py [--jvms 17,21] [--only everything,order]

It needs the packages of the group ``spark``, and minutes.  ``everything`` instruments the jars and
runs the job from them.  ``order`` runs it in a JVM that was started for method events, where events
and probes see the same calls, and in one that was attached to while it ran.

Python calls Spark by reflection.  Where the compiler has made a bridge, two methods take the same
parameters, and Py4J calls the one that ``Class.getMethods`` names first.  HotSpot sorts methods by
the addresses of their names in memory, with a sort that does not keep equal ones in their order,
so which of the two is called differs between processes.  Each process says which it is, and
`alike` allows for these calls and no others.  Several threads give work to Spark's scheduler, so
the order of its calls differs between processes, too; how often it calls what does not.  It adds
up those metrics of a task that are not zero.  Some are times, so the number of these calls is
compared with the metrics in Spark's own log of events.
"""

from __future__ import annotations

import argparse
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
from collections import Counter
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
METRIC = "org.apache.spark.scheduler.DAGScheduler.$anonfun$updateAccumulators$1"
"""The method that is called for each metric of a task that has ended."""
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

        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        run()
        time.sleep(1)
        done.set()
        reader.join()
        found.extend(trace.read(0.1))
        assert trace.dropped == 0, f"{trace.dropped} calls were dropped: is the machine loaded?"
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

        reader = threading.Thread(target=read, daemon=True)
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


def bridges_first(spark: Any) -> list[str]:
    """The bridges that reflection names before the methods which they call."""
    java = spark._jvm.java.lang
    loader = java.Thread.currentThread().getContextClassLoader()
    found = []
    for owner in CLASSES:
        seen = set()
        for method in loader.loadClass(owner).getMethods():
            name, parameters = method.getName(), method.getParameterTypes()
            key = (name, *(one.getName() for one in parameters))
            if key not in seen and method.isBridge():
                returned = method.getReturnType()
                kind = java.invoke.MethodType.methodType(returned, parameters)
                found.append(f"{owner}.{name}{kind.toMethodDescriptorString()}")
            seen.add(key)
    return found


def by_thread(calls: list[tuple[str, int, str]]) -> dict[str, list[str]]:
    """The methods of the scheduler's thread and of Python's, in the order of their calls."""
    order: dict[str, list[str]] = {"scheduler": [], "python": []}
    for thread, _, method in sorted(calls, key=lambda one: one[1]):
        if THREADS.fullmatch(thread):
            order["scheduler" if thread.startswith("dag") else "python"].append(method)
    return order


def metrics(log: Path) -> int:
    """How many of Spark's own metrics, of all tasks that have ended so far, were not zero."""
    time.sleep(1)  # the log is written behind the job
    (file,) = log.iterdir()
    ended = (json.loads(line) for line in file.read_text().splitlines() if "TaskEnd" in line[:40])
    return sum(
        one["Name"].startswith("internal.metrics.")
        for event in ended
        for one in event["Task Info"]["Accumulables"]
    )


def drive(way: str, to: Path) -> None:
    """Run the job in this process's Spark, and write down what came of it."""
    from pyspark.sql import SparkSession

    log = to.with_suffix(".log")
    log.mkdir()
    spark = (
        SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.eventLog.enabled", "true")
        .config("spark.eventLog.dir", log.as_uri())
        .config("spark.eventLog.compress", "false")
        .config("spark.eventLog.rolling.enabled", "false")
        .config("spark.sql.adaptive.enabled", "false")
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.sql.broadcastTimeout", "3600")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    rows = job(spark)
    found: dict[str, Any] = {"rows": rows}
    if way in ("late", "beside"):
        for _ in range(2):  # what is done at first use is done then
            job(spark)
        with jvmti.attach_spark(spark, timeout=120) as vm:
            vm.timeout = 300

            def run() -> None:
                assert job(spark) == rows

            def run_with_events() -> None:
                found["events"] = by_thread(calls_by_events(vm, run))

            before = metrics(log)
            calls = calls_by_probes(vm, run_with_events if way == "beside" else run)
            found["metrics"] = metrics(log) - before
        found |= {"probes": by_thread(calls), "bridges": bridges_first(spark)}
    to.write_text(json.dumps(found))
    spark.stop()


# ---- what is compared ----------------------------------------------------------------------------


def driven(
    java: Path, way: str, folder: Path, home: Path | None = None, options: str = ""
) -> tuple[Any, str]:
    """What came of the job in a process of its own, and what was printed."""
    kept = {name: value for name, value in os.environ.items() if name not in VARIABLES}
    kept |= {
        "JAVA_HOME": str(java),
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


def everything(java: Path, folder: Path) -> None:
    """The same rows with probes in every place of the code."""
    began = time.monotonic()
    plain, _ = driven(java, "plain", folder)
    took = time.monotonic() - began
    home, jars, classes = instrumented_home(folder)
    began = time.monotonic()
    probed, said = driven(java, "instrumented", folder, home)
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


def alike(one: Any, other: Any) -> list[str]:
    """The bridges that Python called in only one of two processes, before the methods behind them.

    All other calls must be the same, in the same order.
    """
    here, there = one["probes"]["python"], other["probes"]["python"]
    chosen, chosen_there = set(one["bridges"]), set(other["bridges"])
    only = (chosen - chosen_there, chosen_there - chosen)
    skipped = []
    i = j = 0
    while i < len(here) or j < len(there):
        a, b = here[i : i + 2], there[j : j + 2]
        if a[:1] == b[:1]:
            i, j = i + 1, j + 1
        elif a and a[0] in only[0] and a[1:] == b[:1] and behind(a[0], a[1]):
            skipped.append(a[0])
            i += 1
        elif b and b[0] in only[1] and b[1:] == a[:1] and behind(b[0], b[1]):
            skipped.append(b[0])
            j += 1
        else:
            raise SystemExit(f"call {i} of {len(here)}, {j} of {len(there)}: {a}, {b}")
    return skipped


def as_often(one: Any, other: Any) -> int:
    """How many calls the scheduler made in each of two processes, without those for metrics.

    There must be as many of each method, and as many more for metrics as there were more of them.
    """
    counts = [Counter(of["probes"]["scheduler"]) for of in (one, other)]
    metrics = [
        sum(number for method, number in count.items() if method.startswith(METRIC + "("))
        - of["metrics"]
        for count, of in zip(counts, (one, other), strict=True)
    ]
    assert metrics[0] == metrics[1], metrics
    for count in counts:
        for method in [method for method in count if method.startswith(METRIC)]:
            del count[method]
    assert counts[0] == counts[1], (counts[0] - counts[1], counts[1] - counts[0])
    return counts[0].total()


def behind(bridge: str, method: str) -> bool:
    """Whether the methods differ in what they return alone."""
    return bridge.partition(")")[0] == method.partition(")")[0]


def order(java: Path, folder: Path) -> None:
    """The same calls in the same order as by the VM's events."""
    reserved = jvmti.java_tool_options(jvmti.AgentOptions(listen="", reserve=()))
    beside, _ = driven(java, "beside", folder, options=reserved)
    late, _ = driven(java, "late", folder)
    assert late["rows"] == beside["rows"]
    for kind, methods in beside["events"].items():
        assert methods
        assert beside["probes"][kind] == methods, kind
        print(
            f"{kind}: {len(methods):,} calls of {len(set(methods))} methods, in the same order by "
            "the VM's events and by probes",
            flush=True,
        )
    skipped = alike(beside, late)
    print(
        f"attached to late: {len(late['probes']['python']):,} calls by Python in the same order, "
        f"but for {len(skipped)} of bridges that reflection chose in one of the two JVMs "
        f"({', '.join(sorted({name(one) for one in skipped}))}); "
        f"{as_often(beside, late):,} by the scheduler, beside those for {beside['metrics']} and "
        f"{late['metrics']} metrics",
        flush=True,
    )


def name(method: str) -> str:
    """Without package and types."""
    return ".".join(method.partition("(")[0].split(".")[-2:])


def main() -> None:
    """Compare, and say what was the same."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jvms", help="such as 17,21; otherwise the distribution's JDK")
    parser.add_argument("--only", default="everything,order")
    parser.add_argument("--drive", help=argparse.SUPPRESS)
    parser.add_argument("--to", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.drive:
        drive(given.drive, given.to)
        return
    homes = [jvms.distribution_jdk()]
    if given.jvms:
        homes = [jvms.home_for_spark(jvms.named(one)) for one in given.jvms.split(",")]
    for home in homes:
        print(home, flush=True)
        for part in given.only.split(","):
            with tempfile.TemporaryDirectory() as folder:
                {"everything": everything, "order": order}[part](home, Path(folder))


if __name__ == "__main__":
    main()
