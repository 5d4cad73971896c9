"""``jvmti conformance``."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from jvmti.commands.conformance import calls
from jvmti.commands.failure import FAILED
from jvmti.commands.options.targets import add_json, add_target, opened
from jvmti.env.interface import FUNCTIONS
from jvmti.interface.capabilities import Capabilities
from jvmti.interface.declaration import Declaration
from jvmti.interface.errors import (
    Error,
    ErrorCode,
    JavaException,
    JvmtiError,
    MustPossessCapability,
    NotAvailable,
    NotInThisVersion,
    TargetLost,
)
from jvmti.interface.frozen import frozen
from jvmti.jni.interface import FUNCTIONS as JNI_FUNCTIONS
from jvmti.model.vm import VM
from jvmti.report.tables import console, print_json, print_table
from jvmti.text.printable import printable
from jvmti.text.quantities import quantity

RETURNED, ANSWERED, UNAVAILABLE, NOT_CALLED, BROKEN = (
    "returned",
    "error",
    "not available",
    "not called",
    "BROKEN",
)


class Command:
    """Call every function of JVM TI and JNI on a JVM and show the results.

    The calls are harmless: the command uses objects, threads and an environment of its own, so an
    error is often the right result. It skips functions that would disturb the program, and the
    table says why.

    Exit code 1 if a function is broken: its call did not return, or its reply was invalid.
    """

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        """Add the arguments."""
        add_target(parser)
        add_json(parser)
        parser.add_argument(
            "--gc", action="store_true", help="force a full garbage collection as well"
        )
        parser.add_argument(
            "--interface", choices=("jvmti", "jni"), help="the functions of one interface only"
        )

    def run(self, given: argparse.Namespace) -> int:
        """Print the table."""
        with opened(given) as vm:
            vm.timeout = given.timeout
            rows = list(conformance(vm, gc=given.gc, interface=given.interface))
            about = {
                "pid": vm.process.pid,
                "main": vm.process.main,
                "java_version": vm.process.java_version,
                "jvmti_version": ".".join(map(str, vm.version)),
            }
        counts = Counter(row.outcome for row in rows)
        broken = counts[BROKEN]
        if given.json:
            summary = {name: counts[name] for name in (RETURNED, ANSWERED, UNAVAILABLE)}
            summary |= {NOT_CALLED: counts[NOT_CALLED], "broken": broken}
            print_json({**about, "summary": summary, "functions": [asdict(row) for row in rows]})
        else:
            styles = [{BROKEN: "bold red", UNAVAILABLE: "dim"}.get(row.outcome) for row in rows]
            print_table(
                ["", "FUNCTION", "OUTCOME", "RESULT OR REASON"],
                [[row.interface, row.function, row.outcome, row.detail] for row in rows],
                styles=styles,
            )
            console().print(
                f"\n{quantity(len(rows), 'function')} of {printable(str(about['main']))}, JVM TI "
                f"{about['jvmti_version']}: "
                + ", ".join(f"{count} {name}" for name, count in counts.most_common())
            )
        return FAILED if broken else 0


@frozen
class Row:
    """The result of one function."""

    #: ``jvmti`` or ``jni``.
    interface: str
    #: Its PEP 8 name.
    function: str
    #: One of the five words above.
    outcome: str
    #: The value, the error, or the reason.
    detail: str


def conformance(vm: VM, *, gc: bool = False, interface: str | None = None) -> Iterator[Row]:
    """Call every function once."""
    materials = calls.Materials(vm)
    tables = {
        "jvmti": (FUNCTIONS, calls.JVMTI),
        "jni": (JNI_FUNCTIONS, calls.JNI),
    }
    for name, (functions, cases) in tables.items():
        if interface not in (None, name):
            continue
        for function, declaration in functions.items():
            outcome, detail = _one(vm, materials, name, declaration, cases.get(function), gc)
            yield Row(name, function, outcome, detail)
            if vm.closed:
                return


def _one(
    vm: VM,
    materials: calls.Materials,
    interface: str,
    declaration: Declaration,
    case: calls.Case | None,
    gc: bool,
) -> tuple[str, str]:
    name = declaration.name
    if name in calls.NOT_CALLED:
        return NOT_CALLED, calls.NOT_CALLED[name]
    if name == "force_garbage_collection" and not gc:
        return NOT_CALLED, calls.GARBAGE_COLLECTION
    if declaration.callback:
        return NOT_CALLED, "needs a callback, and this command has none"
    try:
        if case is None:
            target = materials.env if interface == "jvmti" else materials.jni
            arguments = [
                calls.BY_PARAMETER[parameter.name](materials)
                for parameter in declaration.parameters
            ]
            value = getattr(target, name)(*arguments)
        else:
            value = case(materials)
    except NotInThisVersion as error:
        return UNAVAILABLE, str(error)
    except MustPossessCapability as error:
        return UNAVAILABLE, _lacking(vm, declaration, error)
    except NotAvailable as error:
        return UNAVAILABLE, str(error)
    except JavaException as error:
        return ANSWERED, str(error)
    except JvmtiError as error:
        return ANSWERED, f"{ErrorCode(error.code).name}: {error.detail}"
    except TargetLost as error:
        return BROKEN, f"the JVM or its agent has ended: {error}"
    except (Error, KeyError, TypeError, ValueError, AttributeError, NotImplementedError) as error:
        return BROKEN, f"{type(error).__name__}: {error}"
    return RETURNED, _result_text(value)


def _lacking(vm: VM, declaration: Declaration, error: JvmtiError) -> str:
    available = vm.env.get_potential_capabilities()
    for one in Capabilities.of(declaration.capabilities) & ~available:
        why, _ = vm.capabilities.reason(one, available)
        return f"needs {one.name}: {why}"
    return str(error)


def _result_text(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, list):
        return quantity(len(value), "item")
    if isinstance(value, Capabilities):
        return quantity(len(value), "capability")
    text = repr(value)
    return text if len(text) <= 60 else text[:59] + "…"
