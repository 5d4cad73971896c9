"""Steps that pass over code, and threads that stop together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from adapter.client import SOURCE, Client, Failed, line

if TYPE_CHECKING:
    from adapter.conftest import Begin

pytestmark = pytest.mark.oldest_and_newest


def test_steps_pass_over_the_jdk_and_end_where_it_calls_back(begin: Begin, way: str) -> None:
    """A step into a method of the JDK ends in the lambda that it calls, then behind it."""
    client = begin(line("EACH"))
    thread = client.stopped("breakpoint")
    client.breakpoints()
    client.go("stepIn", thread)
    assert client.top(thread)["line"] == line("LAMBDA")
    client.go("stepOut", thread)
    # The JDK calls it again, or has done with it.
    assert client.top(thread)["line"] in (line("EACH"), line("SIZE"), line("LAMBDA"))
    while client.top(thread)["line"] != line("VISITED"):
        client.go("next", thread)
    # A late agent's probes are where lines begin.
    client.go("stepIn", thread)
    assert client.top(thread)["line"] == line("SQUARE")
    client.disconnect()


@pytest.mark.newest
def test_step_filters_have_patterns_and_kinds_of_methods(
    client: Client, command: list[str]
) -> None:
    """Constructors and chosen classes are passed over."""
    filters = {"skipClasses": ["Debugged$L*"], "skipConstructors": True}
    client.launch(line("TEXT"), command=command, stepFilters=filters)
    thread = client.stopped("breakpoint")
    client.go("stepIn", thread)
    assert client.top(thread)["line"] == line("FAIL")
    with pytest.raises(Failed, match="another line"):
        client.ask("gotoTargets", source={"path": str(SOURCE)}, line=line("TEXT"))
    client.disconnect()
