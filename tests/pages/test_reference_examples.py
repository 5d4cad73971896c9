"""The example of every function and event in the reference does what it shows.

The examples are in the docstrings of the declarations, as Python's doctest reads them.  They have a
session on the program Shop at hand; docs/reference/README.md tells readers what the names are.
"""

from __future__ import annotations

import doctest
import inspect
import io
import threading
import zipfile
from collections.abc import Iterator
from subprocess import DEVNULL
from typing import Any

import pytest

import compiler
import jvms
import jvmti
import programs
from jvmti.env.events import EVENTS, EventDeclaration
from jvmti.env.interface import FUNCTIONS
from jvmti.interface.capabilities import Capabilities
from jvmti.jni.interface import FUNCTIONS as JNI_FUNCTIONS
from jvmti.target.agent_library import library_for_executable

pytestmark = pytest.mark.oldest_and_newest

START_VIRTUAL = "startVirtualThread", "(Ljava/lang/Runnable;)Ljava/lang/Thread;"


def documentation(declaration: Any) -> str:
    """The docstring of a function or an event."""
    if isinstance(declaration, EventDeclaration):
        return inspect.getdoc(EVENTS[declaration.constant]) or ""
    return declaration.method.__doc__ or ""


DECLARED = {
    "JVM TI": FUNCTIONS,
    "JNI": JNI_FUNCTIONS,
    "event": {event.__name__: event.declaration for event in EVENTS.values()},
}


def needed(declaration: Any) -> list[pytest.MarkDecorator]:
    """The release that a function came with; JNI's oldest are of versions 1.1 to 1.6."""
    named = declaration.since
    return [] if named.startswith("1.") else [pytest.mark.since(int(named))]


ALL = [
    pytest.param(declaration, id=f"{interface} {name}", marks=needed(declaration))
    for interface, functions in DECLARED.items()
    for name, declaration in functions.items()
]
SHOWN = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL


@pytest.fixture(scope="module")
def program(jvm: jvms.Jvm, shared_java_program: programs.JavaPrograms) -> programs.JavaProgram:
    reserve = f"-agentpath:{library_for_executable(jvm.java)}=reserve"
    shop = shared_java_program("Shop", jvm_args=[reserve, "-XX:+StartAttachListener"])
    shop.expect("ready", timeout=60)
    return shop


@pytest.fixture(scope="module")
def names(
    jvm: jvms.Jvm, program: programs.JavaProgram, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Any]]:
    """What the examples have at hand."""
    directory = tmp_path_factory.mktemp("reference")
    classes = compiler.classes("Shop")
    jar = directory / "added.jar"
    with zipfile.ZipFile(jar, "w") as archive:
        for name in ("Till", "Purse"):
            archive.write(classes / f"{name}.class", f"{name}.class")
    no_dumps = ["-XX:-CreateCoredumpOnCrash", f"-XX:ErrorFile={directory}/hs_err_%p.log"]
    launched: list[jvmti.VM] = []

    def launch(command: list[str], **how: Any) -> jvmti.VM:
        launched.append(real_launch(command, stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL, **how))
        return launched[-1]

    real_launch = jvmti.launch
    with (
        pytest.MonkeyPatch.context() as patch,
        jvmti.attach(program.pid, capabilities="all", timeout=30) as vm,
    ):
        patch.setattr(jvmti, "launch", launch)
        vm.timeout = 60
        jni: Any = vm.jni
        shop, order_class = vm.find_class("Shop"), vm.find_class("Shop$Order")

        def static(name: str, signature: str) -> Any:
            return jni.get_static_object_field(shop, jni.get_static_field_id(shop, name, signature))

        yield {
            "jvmti": jvmti,
            "threading": threading,
            "vm": vm,
            "env": vm.env,
            "jni": jni,
            "shop": shop,
            "order_class": order_class,
            "twice": jni.get_static_method_id(shop, "twice", "(I)I"),
            "start_virtual": jvm.feature >= 21
            and jni.get_static_method_id(jni.find_class("java/lang/Thread"), *START_VIRTUAL),
            "price": jni.get_static_method_id(shop, "price", "(I)I"),
            "number": jni.get_field_id(order_class, "number", "I"),
            "order": static("order", "LShop$Order;"),
            "door": static("door", "Ljava/lang/Object;"),
            "prices": static("prices", "[I"),
            "wares": static("wares", "[Ljava/lang/String;"),
            "customer": vm.threads["customer"],
            "keeper": vm.threads["keeper"],
            "thread_init": jni.get_method_id(jni.find_class("java/lang/Thread"), "<init>", "()V"),
            "jar": str(jar),
            "java": [jvm.java, *jvm.args, *no_dumps, "-cp", str(classes), "Shop"],
        }
    assert program.running(), "the JVM did not survive"
    for vm in launched:
        assert vm.popen is not None
        vm.popen.kill()
        vm.popen.wait()


@pytest.mark.parametrize("declaration", ALL)
def test_an_example_does_what_it_shows(
    declaration: Any, jvm: jvms.Jvm, names: dict[str, Any]
) -> None:
    env = names["env"]
    missing = Capabilities.of(declaration.capabilities) & ~env.get_capabilities()
    if missing:
        pytest.skip(f"{declaration.name} needs {[one.name for one in missing]}")
    example = doctest.DocTestParser().get_doctest(
        documentation(declaration), dict(names), declaration.name, None, None
    )
    said = io.StringIO()
    failed = doctest.DocTestRunner(optionflags=SHOWN).run(example, out=said.write).failed
    assert not failed, said.getvalue()


@pytest.mark.parametrize("declaration", ALL)
def test_nothing_is_without_an_example(declaration: Any) -> None:
    lines = [one.source for one in doctest.DocTestParser().get_examples(documentation(declaration))]
    named = (f".{declaration.name}(", f'"{declaration.name}"')
    assert any(name in line for line in lines for name in named)
    assert not any("SKIP" in line for line in lines)
