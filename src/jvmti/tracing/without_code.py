"""Classes without code that could get probes, which a request names: it is refused."""

from __future__ import annotations

from collections.abc import Iterable

from jvmti.interface.errors import UnmodifiableClass
from jvmti.interface.signatures import PRIMITIVES
from jvmti.text.printable import printable
from jvmti.tracing.traced_vm import TracedVM


def check_has_code(names: Iterable[str]) -> None:
    """Refuse what is no class with code, in any JVM and at any time.

    Args:
        names: names of classes, or patterns.

    Raises:
        LookupError: one is a primitive type or a class of arrays.
    """
    for name in names:
        if name in PRIMITIVES:
            raise LookupError(f"{name} is a primitive type, and has no code")
        if name.endswith("[]"):
            raise LookupError(printable(f"{name} is an array class, and has no code"))


def check_takes_probes(vm: TracedVM, names: Iterable[str]) -> None:
    """Refuse a hidden class, too, which the VM lets nobody change.

    Args:
        vm: the JVM.
        names: names of classes, or patterns.

    Raises:
        LookupError: one is a primitive type or a class of arrays.
        UnmodifiableClass: one is hidden.
    """
    names = list(names)
    check_has_code(names)
    for name in names:
        if "/" not in name:
            continue  # the names of hidden classes have one
        found = vm.classes(name)
        if found and all(one.is_hidden for one in found):
            written, is_lambda, _ = found[0].name.partition("$$Lambda")
            hint = f"; its lambdas are methods lambda$... of {written}" if is_lambda else ""
            raise UnmodifiableClass(
                detail=f"{name} is hidden, and the VM lets nobody change a hidden class, so it "
                f"takes no probes{hint}"
            )


__all__ = ["check_has_code", "check_takes_probes"]
