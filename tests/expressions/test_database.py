"""Expressions in a program that nobody here wrote: a database, stopped in a query."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import compiler
import jars
import jvmti
from debug.stopping import SOON, reserving
from jvmti.errors import ExpressionError
from jvmti.expressions import completions, condition, evaluated

if TYPE_CHECKING:
    from jvms import Jvm
    from programs import JavaPrograms


@pytest.mark.oldest_and_newest
def test_a_database_is_asked_in_its_own_words(jvm: Jvm, java_program: JavaPrograms) -> None:
    (jar,) = jars.fetched(jars.DATABASE)
    path = f"{jar}:{compiler.classes('Querying')}"
    options = [*reserving(jvm)[:2], "-Xmx512m", "-cp", path]
    program = java_program.start([*options, "Querying", "jdbc:h2:mem:orders", "2", "4", "hold"])
    program.expect("ready")
    with jvmti.attach(program.pid, timeout=30) as vm:
        vm.timeout = SOON
        # The class was compiled without the names of its variables: they have numbers.
        when = condition("slot1 == 0 && isGroupQuery && filters.get(0).getTable() != null")
        assert when.in_agent == "slot1 == 0 and isGroupQuery"
        select = "org.h2.command.query.Select"
        with vm.breakpoint(select, "queryWithoutCache", when=when) as stops:
            program.send("")
            stop = stops.next(SOON)
            assert stop is not None
            frame = stop.frame
            for text, value, type_ in [
                ("expressions.size()", 5, "int"),
                ("isGroupQuery && havingIndex >= 0", True, "boolean"),
                ("topTableFilter.getTable().getName().startsWith(\"ORDERS\")", True, "boolean"),
                ("expressions.get(0).getSQL(0)", '"CUSTOMER"', "java.lang.String"),
                ("expressions.get(0).getType().getValueType() == Value.VARCHAR", True, "boolean"),
                ("topTableFilter.getTable().getRowCount(session)", 200, "long"),
                ("condition instanceof ConditionAndOr", False, "boolean"),
                ("org.h2.engine.Constants.VERSION", "2.2.224", "java.lang.String"),
                ("session.getDatabase().getMode().getEnum() == Mode.ModeEnum.REGULAR", True,
                 "boolean"),
                ('"rows: " + filters.get(0).getTable().getRowCountApproximation(session)',
                 "rows: 200", "java.lang.String"),
                ("new java.util.ArrayList<>(expressions).size() * 2L", 10, "long"),
            ]:  # fmt: skip
                found = evaluated(frame, text)
                assert (found.value, found.type) == (value, type_), text
            assert "SELECT" in frame.evaluate("getPlanSQL(0)")
            with pytest.raises(ExpressionError, match=r"its parameters are slot1 \(long\), slot3"):
                frame.evaluate("maxRows")
            labels = [one.label for one in completions(frame, "topTableFilter.getTab")]
            assert "getTable()" in labels
            caller = next(one for one in stop.frames if "CommandContainer" in str(one))
            assert "from orders" in caller.evaluate("sql.toLowerCase()")
