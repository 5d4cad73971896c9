"""A PySpark program that looks at its own JVMs and prints what it sees, as JSON in its last line.

PYSPARK_SUBMIT_ARGS says where it runs. It starts Spark once, as that takes half a minute on a busy
machine, and does one thing after the other.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import time
from collections.abc import Callable
from typing import Any

from pyspark.sql import SparkSession

import jvmti
from documented import blocks
from jvms import ROOT
from jvmti.integrations.spark import SparkExecutor


def main() -> None:
    page = ROOT / "docs" / "python_programs.md"
    examples = [block.text for block in blocks(page) if "spark" in block.text.lower()]
    # The one that gives the JVM options has to be the one that starts it.
    examples.sort(key=lambda text: "extraJavaOptions" not in text)
    names: dict[str, Any] = {"SparkSession": SparkSession, "jvmti": jvmti}
    exec(examples[0], names)
    spark = names["spark"]
    wait_for(
        lambda: len(found := jvmti.spark_executors(spark)) == 2 and all(e.process for e in found)
    )
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        for example in examples[1:]:
            exec(example, names)
    seen: dict[str, Any] = {"printed": printed.getvalue(), "examples": len(examples)}
    context = spark.sparkContext
    gateway = context._gateway
    seen["driver"] = look(jvmti.attach_spark(context, timeout=60))
    seen["gateway"] = gateway.proc.pid
    executors = jvmti.spark_executors(context)
    seen["executors"] = {executor.id: look(executor.attach(timeout=60)) for executor in executors}
    seen["shown"] = [repr(executor) for executor in executors]
    seen["workers"] = context.parallelize(range(2), 2).map(grandparent).collect()
    seen["far"] = error_of(SparkExecutor("7", "far.example:41", None).attach)
    seen["no session"] = error_of(lambda: jvmti.attach_spark(gateway))
    seen["jobs"], seen["traced"] = traced_jobs(spark)
    seen["profiled"] = profiled_job(spark)
    spark.stop()
    seen["stopped"] = error_of(lambda: jvmti.spark_executors(spark))
    seen["driver of a stopped session"] = look(jvmti.attach_spark(spark, timeout=60))
    gateway.proc.kill()
    gateway.proc.wait()
    seen["dead"] = error_of(lambda: jvmti.attach_spark(spark))
    print(json.dumps(seen))


TRACED = (
    "org.apache.spark.sql.execution.aggregate.*.*",
    "org.apache.spark.sql.execution.joins.*.*",
    "org.apache.spark.scheduler.*.*",
    "org.apache.spark.executor.*.*",
)


def traced_jobs(spark: Any) -> tuple[list[list[Any]], dict[str, int]]:
    """The rows of a job without probes, with them in all JVMs, and without; calls by JVM."""
    jobs = [job(spark)]
    calls = {}
    with contextlib.ExitStack() as stack:
        traces = {}
        vms = {one.id: one.attach(timeout=60) for one in jvmti.spark_executors(spark)}
        vms["driver"] = jvmti.attach_spark(spark, timeout=60)
        for name, vm in vms.items():
            stack.enter_context(vm)
            traces[name] = stack.enter_context(vm.trace(*TRACED, unloaded=True, limit=2000))
        jobs.append(job(spark))
        calls = {name: len(trace.read(5)) for name, trace in traces.items()}
    jobs.append(job(spark))
    return jobs, calls


def profiled_job(spark: Any) -> dict[str, Any]:
    """The processor time of each JVM during a job, from one profile of all of them."""
    with contextlib.ExitStack() as stack:
        vms = {one.id: one.attach(timeout=60) for one in jvmti.spark_executors(spark)}
        vms["driver"] = jvmti.attach_spark(spark, timeout=60)
        profiles: list[Any] = [
            stack.enter_context(stack.enter_context(vm).profile("cpu", interval=0.002))
            for vm in vms.values()
        ]
        job(spark)
        for one in profiles:
            one.stop()
    merged = profiles[0].merge(*profiles[1:], processes=list(vms))
    return {
        "processes": merged.by("process").weights,
        "weight": merged.weight,
        "each": [one.weight for one in profiles],
        "spark": merged.share("org.apache.spark.*"),
        "limits": sorted({one.process for one in merged.limits}),
    }


def job(spark: Any) -> list[Any]:
    rows = spark.range(100_000).selectExpr("id % 17 as k", "cast(id * 3 as string) as v")
    joined = rows.join(spark.range(9).withColumnRenamed("id", "k"), "k")
    found = joined.groupBy("k").agg({"v": "max", "k": "count"}).orderBy("k")
    return [list(row) for row in found.collect()]


def look(vm: jvmti.VM) -> dict[str, Any]:
    with vm:
        return {
            "pid": vm.process.pid,
            "main": vm.process.main,
            "threads": [thread.name for thread in vm.threads],
            "breakpoints": "can_generate_breakpoint_events" in vm.env.get_potential_capabilities(),
        }


def grandparent(_: int) -> int:
    """On a worker: the process that started the one that forks workers."""
    import os

    with open(f"/proc/{os.getppid()}/stat") as file:
        return int(file.read().rpartition(")")[2].split()[1])


def error_of(function: Callable[[], object]) -> list[str]:
    try:
        function()
    except Exception as error:
        return [type(error).__name__, str(error)]
    return []


def wait_for(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 120
    while not condition():
        if time.monotonic() > deadline:
            sys.exit("the executors did not come")
        time.sleep(0.1)


if __name__ == "__main__":
    main()
