"""A PySpark program looks at its driver's and its executors' JVMs; Spark is started once."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import jvms
from programs import VARIABLES

PROGRAM = Path(__file__).parent / "spark_driver.py"
SUBMIT = (
    "--master local-cluster[2,1,1024] --driver-memory 512m --conf spark.executor.memory=512m "
    "--conf spark.ui.enabled=false --conf spark.sql.shuffle.partitions=4 "
    # Spark would compile the code of each query in each of its JVMs.
    "--conf spark.sql.codegen.wholeStage=false --conf spark.sql.codegen.factoryMode=NO_CODEGEN "
    "--conf spark.sql.adaptive.enabled=false pyspark-shell"
)

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the program saw."""
    if importlib.util.find_spec("pyspark") is None:
        pytest.skip("PySpark is not installed; `make test` does")
    home = jvms.distribution_jdk()
    if home is None:
        # Spark wants the module jdk.incubator.vector, which small runtimes lack.
        pytest.skip("the distribution's JDK is not installed; `make java` does")
    kept = {name: value for name, value in os.environ.items() if name not in VARIABLES}
    kept |= {
        "PYTHONPATH": str(PROGRAM.parents[1]),
        "JAVA_HOME": str(home),
        "JAVA_TOOL_OPTIONS": " ".join(jvms.QUICK),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_SUBMIT_ARGS": SUBMIT,
        "PYSPARK_PYTHON": sys.executable,
    }
    done = subprocess.run(
        [sys.executable, PROGRAM],
        cwd=tmp_path_factory.mktemp("spark"),
        env=kept,
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert done.returncode == 0, done.stderr
    answers: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answers


def test_the_driver_is_the_jvm_that_pyspark_has_started(seen: dict[str, Any]) -> None:
    # spark-submit turns into the JVM, so that its process is PySpark's child.
    assert seen["driver"]["pid"] == seen["gateway"]
    assert seen["driver"]["main"] == "org.apache.spark.deploy.SparkSubmit"
    assert any(name.startswith("dag-scheduler") for name in seen["driver"]["threads"])


def test_executors_are_the_jvms_that_start_python_workers(seen: dict[str, Any]) -> None:
    assert sorted(seen["executors"]) == ["0", "1"]
    pids = {executor["pid"] for executor in seen["executors"].values()}
    assert pids == set(seen["workers"])
    for executor in seen["executors"].values():
        assert executor["main"].endswith("ExecutorBackend")
    assert all(re.search(r"SparkExecutor [01] at 127.0.0.1.*JVM \d+", one) for one in seen["shown"])


def test_spark_starts_with_the_agent_where_its_options_say_so(seen: dict[str, Any]) -> None:
    assert seen["driver"]["breakpoints"]
    assert not any(executor["breakpoints"] for executor in seen["executors"].values())


def test_the_documented_examples_print_what_there_is(seen: dict[str, Any]) -> None:
    assert seen["examples"] == 4
    assert re.search(r"^dag-scheduler-event-loop (WAITING|RUNNABLE)$", seen["printed"], re.M)
    assert "Histogram of 3 classes" in seen["printed"]
    assert len(re.findall(r"^\d tasks run, \d+ MB in the heap$", seen["printed"], re.M)) == 2


def test_what_cannot_be_attached_to_says_why(seen: dict[str, Any]) -> None:
    kind, text = seen["far"]
    assert kind == "NoSuchProcess"
    assert "executor 7 at far.example:41 cannot be seen from here" in text
    assert seen["no session"][0] == "TypeError"
    assert "expected a SparkSession or SparkContext of PySpark" in seen["no session"][1]
    assert seen["stopped"] == [
        "ValueError",
        "the Spark session has been stopped, and its executors with it",
    ]
    assert seen["dead"][0] == "JvmDied"
    assert "has it ended?" in seen["dead"][1]


def test_a_job_finds_the_same_with_probes_in_its_jvms(seen: dict[str, Any]) -> None:
    before, during, after = seen["jobs"]
    assert len(before) == 9
    assert before == during == after
    assert set(seen["traced"]) == {"driver", "0", "1"}
    assert all(calls > 20 for calls in seen["traced"].values()), seen["traced"]


def test_driver_and_executors_are_one_profile(seen: dict[str, Any]) -> None:
    found = seen["profiled"]
    assert set(found["processes"]) == {"driver", "0", "1"} == set(found["limits"])
    assert all(weight > 0 for weight in found["processes"].values())
    assert sum(found["processes"].values()) == found["weight"] == sum(found["each"])
    assert found["spark"] > 0.1


def test_the_driver_of_a_stopped_session_is_still_there(seen: dict[str, Any]) -> None:
    assert seen["driver of a stopped session"]["pid"] == seen["driver"]["pid"]
