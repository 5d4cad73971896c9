"""``jvmti heap query``: the expressions that it takes, and the tables that it makes of values."""

from __future__ import annotations

import csv
import io
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy
import pyarrow
import pyarrow.ipc
import pyarrow.parquet
import pytest

import jvms
import jvmti.heap
import programs
from command_line import here
from documented import blocks
from heap.conftest import Dumped
from heap.hprof import OBJECT, Writer, small
from heap.live.test_live_snapshot import left_behind
from jvmti.heap.tables.columns import display_values, plain, table
from jvmti.heap.tables.query import Expression, QueryError, expressions

pytestmark = pytest.mark.oldest_and_newest

COMMAND = [sys.executable, "-m", "jvmti", "heap"]
needs_places = pytest.mark.skipif(
    sys.version_info < (3, 11), reason="Python tells the place from 3.11 on"
)


def run(*words: str | int | Path) -> subprocess.CompletedProcess[str]:
    return here("heap", *words)


def printed(*words: str | int | Path) -> str:
    ended = run("query", *words)
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr == ""
    return ended.stdout


def found(*words: str | int | Path) -> Any:
    return json.loads(printed(*words, "--json"))


@pytest.fixture(scope="module")
def file(program: programs.JavaProgram, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("dump") / "holdings.hprof"
    assert run("dump", program.pid, path).returncode == 0
    return path


@pytest.fixture(params=["file", "live"])
def source(request: pytest.FixtureRequest, program: programs.JavaProgram, file: Path) -> str:
    return str(file if request.param == "file" else program.pid)


@pytest.fixture
def snapshot(tmp_path: Path) -> jvmti.heap.Snapshot:
    (tmp_path / "dump").write_bytes(small())
    return jvmti.heap.open(tmp_path / "dump")


# Expressions


def test_an_expression_has_the_names_of_the_snapshot(snapshot: jvmti.heap.Snapshot) -> None:
    def value(text: str) -> Any:
        return Expression(text).evaluate(snapshot)

    assert value('objects("com.acme.Customer")["age"].tolist()') == [36, 41, 7]
    assert value('static("com.acme.Customer.LIMIT")') == -7
    assert value("snapshot") is snapshot
    assert value("np") is numpy
    assert value("heap") is jvmti.heap
    assert value("len(classes) == len(snapshot.classes)")
    assert value("sum(1 for root in roots)") == len(snapshot.roots)
    assert value('(o := objects("com.acme.Customer"))[o["age"] > 10]["age"].tolist()') == [36, 41]
    assert value("(lambda: [objects for _ in range(1)])()")[0]("long[]")[0].length == 3
    assert value(' len(\n  objects("com.acme.Customer")\n ) # how many') == 3


def test_columns_go_before_the_names_of_the_snapshot(snapshot: jvmti.heap.Snapshot) -> None:
    assert Expression("size").evaluate(snapshot) == snapshot.size
    assert Expression("size").evaluate(snapshot, {"size": 5}) == 5


def test_several_expressions_may_have_names(snapshot: jvmti.heap.Snapshot) -> None:
    three = expressions('age, first := name[:1] , (age, 2)[1], f"{age}"')
    assert [one.name for one in three] == ["age", "first", "(age, 2)[1]", 'f"{age}"']
    columns = {"age": 7, "name": "Ada"}
    assert [one.evaluate(snapshot, columns) for one in three] == [7, "A", 2, "7"]
    assert [one.name for one in expressions("age")] == ["age"]
    assert [one.name for one in expressions("age,\n  credit,")] == ["age", "credit"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "empty"),
        ("1 +", "column 4: invalid syntax"),
        ("1 + )", "column 5"),
        ("(1,\n 2))", "line 2, column 4"),
        ('"é" 2 3', "column 1: invalid syntax"),
        ("x = 3", "column 1"),
        ("1\0", "null"),
    ],
)
def test_a_syntax_error_is_reported_with_its_place(text: str, said: str) -> None:
    with pytest.raises(QueryError, match=said.replace("+", r"\+")) as wrong:
        Expression(text)
    assert "\n" not in str(wrong.value)
    assert not wrong.value.answered


@needs_places
@pytest.mark.parametrize(
    ("text", "said", "answered"),
    [
        ('len(objects("com.acme.Custoner"))', 'column 5, objects("com.acme.Custoner"): no', True),
        ('objects("com.acme.Customer")["ages"]', "similar: age", True),
        ("1 + objekts", "column 5, objekts: NameError: name 'objekts'", False),
        ("1 + objekts", "objects", False),
        ('"é" + str(1/0)', "column 11, 1/0: ZeroDivisionError", False),
        ('objects("com.acme.Customer").largst(2)', "similar: largest", False),
        ("[one for one in (1, 2)\n  if one.x]", "line 2, column 6, one.x: AttributeError", False),
        ("np.zeros(3)[7]", "IndexError", False),
    ],
)
def test_an_error_is_reported_with_its_place(
    text: str, said: str, answered: bool, snapshot: jvmti.heap.Snapshot
) -> None:
    with pytest.raises(QueryError) as wrong:
        Expression(text).evaluate(snapshot)
    assert said in str(wrong.value)
    assert "\n" not in str(wrong.value)
    assert wrong.value.answered is answered


# Tables


class Pair(NamedTuple):
    name: str
    number: int


def rows(value: Any) -> list[dict[str, Any]]:
    found = table(value)
    columns = [plain(found[name]) for name in found]
    assert {len(column) for column in columns} <= {found.count}
    return [dict(zip(found, row, strict=True)) for row in zip(*columns, strict=True)]


def test_everything_is_a_table(snapshot: jvmti.heap.Snapshot) -> None:
    customers = snapshot.objects("com.acme.Customer")
    assert rows(5) == [{"value": 5}]
    assert rows("text") == [{"value": "text"}]
    assert rows(None) == [{"value": None}]
    assert rows([]) == []
    assert rows(numpy.float32(0.5)) == [{"value": 0.5}]
    assert rows(customers["age"] > 10) == [{"value": True}, {"value": True}, {"value": False}]
    assert rows(customers["next"]["age"])[2] == {"value": None}
    assert rows(numpy.unique([3, 3, 1], return_counts=True)) == [
        {"value": 1, "value_2": 1},
        {"value": 3, "value_2": 2},
    ]
    assert rows({"age": customers["age"], "name": customers["name"]})[0] == {
        "age": 36,
        "name": "Ada",
    }
    assert rows({"a": 1, "b": [1, 2]}) == [
        {"key": "a", "value": 1},
        {"key": "b", "value": "1, 2"},
    ]
    assert rows([Pair("a", 1), Pair("b", 1 << 70)])[1] == {"name": "b", "number": 1 << 70}
    assert rows(Pair("a", 1)) == [{"name": "a", "number": 1}]
    assert rows(one for one in [(1, "x"), (2, "y")])[1] == {"value": 2, "value_2": "y"}
    assert rows(numpy.arange(4).reshape(2, 2))[1] == {"value": 2, "value_2": 3}
    assert rows(pyarrow.table({"a": [1, 2], "b": ["x", None]}))[1] == {"a": 2, "b": None}
    assert rows(customers.group_by("age"))[0] == {
        "key": 7,
        "count": 1,
        "bytes": int(customers.sizes[2]),
    }
    with pytest.raises(ValueError, match="3 dimensions"):
        table(numpy.zeros((2, 2, 2)))
    by_name = {row["name"]: row for row in rows(snapshot.histogram())}
    assert by_name["com.acme.Customer"]["count"] == 3
    assert "retained" not in by_name["com.acme.Customer"]
    assert all(row["retained"] for row in rows(snapshot.histogram(retained=True)))


def test_objects_are_shown_with_the_fields_that_all_of_them_have(tmp_path: Path) -> None:
    (tmp_path / "dump").write_bytes(small())
    snapshot = jvmti.heap.open(tmp_path / "dump", unreachable="keep")
    [first, *_] = rows(snapshot.objects("com.acme.Customer"))
    assert {name: first[name] for name in ("class_name", "credit", "age", "name")} == {
        "class_name": "com.acme.Customer", "credit": 2.5, "age": 36, "name": "Ada"
    }  # fmt: skip
    assert isinstance(first["next"], int)
    both = table(snapshot.objects("com.acme.Person", subclasses=True))
    assert list(both)[4:] == ["age", "name"]
    assert plain(both["credit"]) == [2.5, -1.0, 0.0, None]
    assert "credit" in both
    assert "nothing" not in both
    assert list(both.rows(slice(3))) == list(both)
    assert list(both.rows(numpy.array([True, True, True, False])))[4:] == [
        "next", "credit", "age", "name"
    ]  # fmt: skip
    arrays = rows(snapshot.objects("com.acme.Customer[]"))
    assert arrays[0]["length"] == 4
    texts = table(snapshot.objects("java.lang.String"))
    assert list(texts)[4:] == ["text"]
    assert plain(texts["text"]) == ["Ada", "Grüße 🌍"]
    following = table(snapshot.objects("com.acme.Customer")["next"])
    assert plain(following["bytes"])[2] is None
    assert plain(following["class_name"])[2] is None
    assert display_values(following["next"])[0].startswith("com.acme.Customer #")
    assert rows(snapshot.objects("com.acme.Customer")[:0]) == []


def test_one_object_and_one_class_are_shown_by_their_fields(
    snapshot: jvmti.heap.Snapshot,
) -> None:
    customer = snapshot.objects("com.acme.Customer")[0]
    by_field = {row["field"]: row for row in rows(customer)}
    assert by_field["age"]["declared_by"] == "com.acme.Person"
    assert by_field["age"]["value"] == 36
    statics = {row["field"]: row for row in rows(snapshot.classes["com.acme.Customer"][0])}
    assert (statics["LIMIT"]["value"], statics["LIMIT"]["static"]) == (-7, True)
    assert rows(snapshot.objects("long[]")[0]) == [
        {"index": at, "value": value} for at, value in enumerate((1, -2, 3))
    ]
    assert [row["value"] for row in rows(snapshot.objects("java.lang.String")[0])] == ["Ada"]
    classes = {row["class_name"]: row for row in rows(snapshot.classes["com.acme.*"])}
    assert classes["com.acme.Customer"]["superclass"] == "com.acme.Person"
    assert classes["com.acme.Customer"]["count"] == 3


def test_a_field_called_like_a_column_has_its_class(tmp_path: Path) -> None:
    writer = Writer()
    cls = writer.class_(0x1000, "com/acme/Odd", [("bytes", OBJECT), ("them", OBJECT)])
    writer.instance(0x2000, cls, 0x2000, 0)
    writer.root(0xFF, 0x2000)
    (tmp_path / "dump").write_bytes(writer.finish())
    [row] = rows(jvmti.heap.open(tmp_path / "dump").objects("com.acme.Odd"))
    assert row["bytes"] > 0
    assert row["com.acme.Odd.bytes"] == row["object"]
    assert row["com.acme.Odd.them"] is None


# The command


def test_a_question_is_answered(source: str, program: programs.JavaProgram) -> None:
    orders = found(source, 'objects("Holdings$Order")', "--where", "number < 10", "--top", 3)
    assert orders["count"] == 10
    assert len(orders["rows"]) == 3
    assert (orders["pause"] > 0) is source.isdecimal()
    [one] = found(source, 'objects("Holdings$Order")', "--where", 'name == "order-7"')["rows"]
    assert (one["number"], one["total"], one["paid"]) == (7, 70_000_000_000, False)
    assert one["rate"] == 1.75
    assert one["retained"] > one["bytes"] > 0
    named = found(
        source,
        'objects("Holdings$Order").largest(2, by="number")',
        "--columns",
        'number, customer := customer["name"], share := total / total.sum(), kind := "order"',
    )["rows"]
    assert [row["number"] for row in named] == [999, 998]
    assert named[0]["customer"] == "customer-9"
    assert 0 < named[0]["share"] < 1
    assert named[0]["kind"] == "order"
    text = printed(source, 'objects("Holdings$Order").group_by("customer")', "--top", 2)
    assert "Holdings$Customer #" in text
    assert "8 more; --top" in text
    assert found(source, 'len(objects("Holdings$Item"))')["rows"] == [{"value": 10_000}]
    assert left_behind(program.pid) == []


def test_a_question_is_put_to_a_program_that_is_started(
    program: programs.JavaProgram, file: Path
) -> None:
    words = Path(f"/proc/{program.pid}/cmdline").read_bytes().decode().split("\0")[:-1]
    question = 'len(objects("Holdings$Link"))'
    readable, writable = os.pipe()  # at whose end the program would end itself
    ended = subprocess.run(
        [*COMMAND, "query", question, "--json", "--", *words],
        stdin=readable, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    os.close(readable)
    os.close(writable)
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout)["rows"] == [{"value": 300}]


def test_rows_go_to_files_of_all_kinds(file: Path, tmp_path: Path) -> None:
    words = [file, 'objects("Holdings$Order")', "--where", "number < 5"]
    words += ["--columns", "number, name, customer, rate"]
    expected = found(*words)["rows"]
    assert len(expected) == 5
    assert isinstance(expected[0]["customer"], int)
    for suffix in ("parquet", "arrow", "jsonl"):
        path = tmp_path / f"orders.{suffix}"
        assert "5 rows written" in printed(*words, "-o", path)
        assert path.stat().st_mode & 0o777 == 0o600
        if suffix == "parquet":
            written = pyarrow.parquet.read_table(path).to_pylist()
        elif suffix == "arrow":
            written = pyarrow.ipc.open_file(path).read_all().to_pylist()
        else:
            written = [json.loads(line) for line in path.read_text().splitlines()]
        assert written == expected
        ended = run("query", *words, "-o", path)
        assert ended.returncode == 2
        assert "--force" in ended.stderr
        printed(*words, "--top", 2, "-o", path, "--force")
    assert len((tmp_path / "orders.jsonl").read_text().splitlines()) == 2
    read = list(csv.DictReader(io.StringIO(printed(*words, "--csv"))))
    assert [row["name"] for row in read] == [row["name"] for row in expected]


def test_rows_that_nobody_would_expect_can_be_written(file: Path, tmp_path: Path) -> None:
    path = tmp_path / "odd.parquet"
    half = r'["a\ud800", None, "\x1b[31m"]'
    printed(file, half, "-o", path)
    assert pyarrow.parquet.read_table(path)["value"].to_pylist() == ["a?", None, "\x1b[31m"]
    printed(file, "[1, 'x', 2.5]", "-o", path, "--force")
    assert pyarrow.parquet.read_table(path)["value"].to_pylist() == ["1", "x", "2.5"]
    printed(file, "[1 << 70, 1]", "-o", path, "--force")
    assert pyarrow.parquet.read_table(path)["value"].to_pylist() == [str(1 << 70), "1"]
    printed(file, 'objects("Holdings$Order")[:0]', "-o", path, "--force")
    assert pyarrow.parquet.read_table(path).num_rows == 0
    assert "\x1b" not in printed(file, half)
    assert [row["value"] for row in found(file, half)["rows"]] == ["a\ud800", None, "\x1b[31m"]
    assert found(file, "np.array([1.5, np.inf, np.nan])")["rows"] == [
        {"value": 1.5}, {"value": None}, {"value": None}
    ]  # fmt: skip


def test_nothing_is_left_of_a_file_that_has_no_room(file: Path, tmp_path: Path) -> None:
    """A file is limited to 4 KB, which stands for a full disk."""
    for suffix in ("parquet", "jsonl"):
        path = tmp_path / f"texts.{suffix}"
        words = shlex.join([*COMMAND, "query", str(file), 'objects("*")', "-o", str(path)])
        # Python would cut its bytecode as well, and all that came later would read that.
        limited = f"trap '' XFSZ; ulimit -f 4; PYTHONDONTWRITEBYTECODE=1 exec {words}"
        ended = subprocess.run(
            ["sh", "-c", limited], capture_output=True, text=True, timeout=60, check=False
        )
        assert ended.returncode == 1, ended.stderr
        assert "File too large" in ended.stderr
        assert "Traceback" not in ended.stderr
        assert not path.exists()


def test_without_pyarrow_it_says_how_to_get_it(file: Path, tmp_path: Path) -> None:
    script = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "from jvmti.commands import main; sys.exit(main(sys.argv[1:]))"
    )
    words = ["heap", "query", str(file), "[1]", "-o"]
    ended = subprocess.run(
        [sys.executable, "-c", script, *words, str(tmp_path / "x.parquet")],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "jvmti[arrow]" in ended.stderr


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["FILE"], 2, "one expression is needed"),
        (["FILE", "objects", "(x)"], 2, "one expression is needed"),
        (["FILE", "1 +"], 2, "column 4: invalid syntax"),
        (["no such program", "1 +"], 2, "invalid syntax"),
        (["FILE", "1", "--where", ")"], 2, "--where: at column 1"),
        (["FILE", "1", "--columns", "value, a b"], 2, "--columns: at column 8"),
        (["FILE", 'objects("Holdings$Odrer")'], 1, "similar: Holdings$Order"),
        (["FILE", 'objects("Holdings$Order")["nmber"]'], 1, "number"),
        (["FILE", "nothing"], 2, "NameError: name 'nothing' is not defined"),
        (["FILE", 'objects("Holdings$Order")', "--where", "totl > 1"], 2, "similar: total"),
        (["FILE", 'objects("Holdings$Order")', "--where", "total"], 2, "true or false"),
        (["FILE", 'objects("Holdings$Order")', "--where", "total[:2] > 1"], 2, "true or false"),
        (["FILE", 'objects("Holdings$Order")', "--columns", "[1, 2]"], 2, "2 values for 1,000"),
        (["FILE", "np.zeros((2, 2, 2))"], 2, "3 dimensions"),
        (["FILE", "1", "--csv", "--json"], 2, "one of --csv"),
        (["FILE", "1", "--top", "-1"], 2, "--top"),
        (["FILE", "1", "-o", "rows.xlsx"], 2, "must end in"),
        (["FILE", "1", "-o", "/no/where.jsonl"], 1, "No such file"),
        (["/etc/hostname", "1"], 1, "/etc/hostname: the file is not a heap dump"),
    ],
)
def test_what_cannot_be_done_is_said(words: list[str], code: int, said: str, file: Path) -> None:
    ended = run("query", *[str(file) if word == "FILE" else word for word in words])
    assert ended.returncode == code, ended.stderr
    assert said in ended.stderr
    assert "Traceback" not in ended.stderr
    assert ended.stdout == ""


# The documentation


@pytest.fixture
def documented(
    shared_dump: Dumped, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> list[tuple[str, str]]:
    """The examples of the page of heap dumps, in a directory where they find what they name."""
    monkeypatch.chdir(tmp_path)
    os.symlink(shared_dump.path, "dump.hprof")
    page = jvms.ROOT / "docs" / "heap_dumps.md"

    def renamed(text: str) -> str:
        return text.replace("com.acme.Server", "Dumped").replace("com.acme.", "Dumped$")

    return [(block.language, renamed(block.text)) for block in blocks(page)]


def test_the_documented_questions_are_answered(documented: list[tuple[str, str]]) -> None:
    snapshot = jvmti.heap.open("dump.hprof")
    names: dict[str, Any] = {"jvmti": jvmti, "snapshot": snapshot}
    for language, text in documented:
        if language == "python" and "vm." not in text and "snapshot.live" not in text:
            if "polars" in text:
                snapshot.to_parquet("tables")
            text = text.replace("Dumped$*", "Dumped$Order")
            exec(text, names)
    assert names["totals"].sum() == snapshot.objects("Dumped$Order", subclasses=True)["price"].sum()
    assert names["limit"] == -17
    assert len(names["adas"]) == 6767
    assert len(names["row"]) == len(names["amount"]) > 0
    [largest, *_] = snapshot.histogram()
    assert names["largest"]["name"][0] == largest.name
    assert names["largest"]["bytes"][0] == largest.bytes


def test_the_documented_tables_are_what_duckdb_reads(documented: list[tuple[str, str]]) -> None:
    import duckdb

    snapshot = jvmti.heap.open("dump.hprof")
    snapshot.to_parquet("tables")
    answers = []
    for language, text in documented:
        if language == "sh":
            for line in text.splitlines():
                words = shlex.split(line)
                assert words[:3] == ["jvmti", "heap", "query"]
                assert printed(*words[3:])
        elif language == "sql":
            answers.append(duckdb.sql(text).fetchall())
    by_class, referring, orders = answers
    first = snapshot.histogram()[0]
    assert by_class[0][:3] == (first.name, first.count, first.bytes)
    assert len(by_class) == len(referring) == 10
    assert [(name, count) for name, count, *_ in orders] == [
        ("Ada", 6667), ("Grüße 🌍", 6667), (None, 6666)
    ]  # fmt: skip
    every = snapshot.objects("Dumped$Order")
    assert sum(row[2] for row in orders) == every["price"].sum()
    assert sum(row[3] for row in orders) == every.retained.sum()
