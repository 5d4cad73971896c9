"""Watchpoints: stop before a field is read or written."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from jvmti.debug.conditions import ConditionError
from jvmti.debug.stop_probes import exactly, stop_probe
from jvmti.debug.stops import Stop, StopRequest
from jvmti.instrumentation.probes import BadProbe, Operand, Probe
from jvmti.interface.constants import Event
from jvmti.interface.modifiers import FieldModifiers
from jvmti.layouts.probes import Operand as Kind
from jvmti.layouts.probes import Site
from jvmti.text.modified_utf8 import encode

if TYPE_CHECKING:
    from jvmti.model.classes.java_class import Class, Field, Method
    from jvmti.model.threads.java_thread import Thread
    from jvmti.model.vm import VM


class Watchpoint(StopRequest):
    """Stops before a field is read or written; see `Field.watch`.

    Attributes:
        field: the field.
    """

    def __init__(
        self,
        vm: VM,
        field: Field,
        read: bool,
        write: bool,
        *,
        when: str | Callable[[Stop], object] | None,
        hits: int | str | None,
        thread: Thread | Iterable[Thread] | None,
        caller: str | Iterable[str] | Method | None,
        do: Callable[[Stop], object] | None,
    ) -> None:
        emulated = vm.breakpoints.is_emulated(Event.FIELD_MODIFICATION)
        text = when if emulated and isinstance(when, str) else None
        super().__init__(
            vm,
            when=None if text is not None else when,
            hits=hits,
            thread=thread,
            caller=caller,
            do=do,
        )
        if not read and not write:
            raise ValueError("watch() needs read=True, write=True or both")
        self.field = field
        if emulated:
            self._begin_with_probes(read, write, text)
            return
        cls = field.declaring_class
        try:
            for wanted, event in ((read, Event.FIELD_ACCESS), (write, Event.FIELD_MODIFICATION)):
                if wanted:
                    number = self._make(event)
                    self._agent(number).install_watchpoint(number, cls, field)
        except BaseException:
            self.cancel()
            raise

    # ---- by probes -------------------------------------------------------------------------

    def _begin_with_probes(self, read: bool, write: bool, condition: str | None) -> None:
        field, declaring = self.field, self.field.declaring_class
        owners = "\n".join(exactly(one.name) for one in [declaring, *declaring.subclasses()])
        # Only a class itself and those that are nested with it can name a private field.
        nest = f"{exactly(declaring.name.partition('$')[0])}"
        private = bool(field.modifiers & FieldModifiers.PRIVATE)
        where: dict[str, Any] = {
            "owners": owners,
            "members": exactly(field.name),
            "classes": f"{nest}\n{nest}$*" if private else None,
        }
        value = Operand(Kind.VALUE, "L")
        target = Operand(Kind.TARGET, "L")
        try:
            probes = [
                stop_probe(site, condition, target, value, **where)
                for site, wanted in ((Site.READ, read), (Site.WRITE, write))
                if wanted
            ]
        except BadProbe as error:
            raise ConditionError(str(error)) from None
        event = Event.FIELD_MODIFICATION if write else Event.FIELD_ACCESS
        self._make_probes(event, probes)
        try:
            assert self._probes is not None
            self._probes.arm(self._accessing(where["classes"]))
        except BaseException:
            self.cancel()
            raise

    def _accessing(self, classes: str | None) -> list[Class]:
        """The loaded classes whose constants may name the field."""
        vm = self._vm
        patterns = ["*"] if classes is None else classes.split("\n")
        loaded = [
            one
            for pattern in patterns
            for one in vm.classes(pattern)
            if one.signature.startswith("L")
        ]
        pools = vm.lookup_env.map.get_constant_pool(loaded)
        name = b"\x01" + len(encode(self.field.name)).to_bytes(2, "big") + encode(self.field.name)
        return [
            one
            for one, status, pool in zip(
                loaded, pools.status.tolist(), pools.constant_pool_bytes, strict=True
            )
            if not status and name in bytes(pool)
        ]

    def _about_probe(self, values: Any, probe: Probe) -> dict[str, Any]:
        about: dict[str, Any] = {"object": values[1], "field": self.field}
        if probe.site is Site.WRITE:
            new_value = values[2]
            is_number = len(self.field.signature) == 1
            about |= {"is_write": True, "new_value": new_value.value if is_number else new_value}
        return about

    def _described(self) -> str:
        return f"{self.field.declaring_class.name}.{self.field.name}"


__all__ = ["Watchpoint"]
