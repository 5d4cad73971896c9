"""Watchpoints: stop before a field is read or written."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from jvmti.env.events import EVENTS
from jvmti.instrumentation.probes import BadProbe, Operand
from jvmti.interface.constants import Event
from jvmti.interface.errors import ClassNotPrepared, Error
from jvmti.interface.modifiers import FieldModifiers
from jvmti.layouts.probes import Operand as Kind
from jvmti.layouts.probes import Site
from jvmti.model.debug.conditions import ConditionError
from jvmti.model.debug.late.stop_probes import exactly, stop_probe
from jvmti.model.debug.stops import Stop, StopRequest
from jvmti.text.modified_utf8 import encode

if TYPE_CHECKING:
    from jvmti.model.classes.java_class import Class, Field, Method
    from jvmti.model.debug.late.stop_probes import ProbedFrame
    from jvmti.model.threads.java_thread import Thread
    from jvmti.model.vm import VM

log = logging.getLogger("jvmti")


class Watchpoint(StopRequest):
    """Stops before a field is read or written; see `Field.watch` and `VM.watch`.

    Attributes:
        field: the field; ``None`` while its class is not loaded.
        failure: why it cannot stop, though the class has been loaded; else ``None``.
    """

    def __init__(
        self,
        vm: VM,
        field: Field | tuple[str, str],
        read: bool,
        write: bool,
        *,
        when: str | Callable[[Stop], object] | None,
        hits: int | str | None,
        thread: Thread | Iterable[Thread] | None,
        caller: str | Iterable[str] | Method | None,
        do: Callable[[Stop], object] | None,
        placed: Callable[[Watchpoint], object] | None = None,
        max_pause: float | None = None,
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
            max_pause=max_pause,
        )
        if not read and not write:
            raise ValueError("watch() needs read=True, write=True or both")
        self.field: Field | None = None
        self.failure: str | None = None
        self._named = field if isinstance(field, tuple) else None
        self._read, self._write, self._text = read, write, text
        self._placed = placed
        self._by_probes = emulated
        self._placing = threading.RLock()
        try:
            if isinstance(field, tuple):
                self._wait_for(exactly(field[0]))
            else:
                self._begin(field)
        except BaseException:
            self.cancel()
            raise

    @property
    def is_pending(self) -> bool:
        """Whether it waits for a class to be loaded."""
        return self.field is None and self.failure is None

    def _begin(self, field: Field) -> None:
        self.field = field
        if self._by_probes:
            self._begin_with_probes(field, self._read, self._write, self._text)
            return
        for wanted, event in (
            (self._read, Event.FIELD_ACCESS),
            (self._write, Event.FIELD_MODIFICATION),
        ):
            if wanted:
                number = self._make(event)
                self._agent(number).install_watchpoint(number, field.declaring_class, field)

    # ---- in a class that is loaded later ---------------------------------------------------

    def _wait_for(self, classes: str) -> None:
        # The event first, so that no class is prepared unseen in between.
        self._make(Event.CLASS_PREPARE, classes=classes)
        if not self._vm._session.live:
            # The VM may grant it only now.
            for wanted, event in (
                (self._read, Event.FIELD_ACCESS),
                (self._write, Event.FIELD_MODIFICATION),
            ):
                if wanted:
                    self._vm.breakpoints.environment(*EVENTS[event].declaration.capabilities)
            return
        assert self._named is not None
        for cls in self._vm.classes.named(self._named[0]):
            self._begin_in(cls)
        if self.field is None:
            self._warn_if_not_loaded(self._named[0])

    def _begin_in(self, cls: Class) -> None:
        with self._placing:
            assert self._named is not None
            try:
                field = cls.fields[self._named[1]]
            except ClassNotPrepared:  # its event comes before anything of it can run
                return
            if self.field is None or (not self._by_probes and field != self.field):
                self._begin(field)
            # Probes are in all classes of the name.

    def _class_prepared(self, cls: Class) -> None:
        before = self.field
        try:
            self._begin_in(cls)
        except (Error, LookupError, ValueError) as error:
            self.failure = str(error.args[0]) if isinstance(error, KeyError) else str(error)
            log.warning("%r: %s", self, self.failure)
        if self._placed is not None and (self.failure or self.field is not before):
            self._placed(self)

    def _went_live(self) -> None:
        assert self._named is not None or self.field is not None
        for cls in self._vm.classes.named(self._named[0]) if self._named is not None else ():
            if self.field is None:
                self._class_prepared(cls)

    # ---- by probes -------------------------------------------------------------------------

    def _begin_with_probes(
        self, field: Field, read: bool, write: bool, condition: str | None
    ) -> None:
        declaring = field.declaring_class
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
        # In front of the probes of sets that were opened before, as for breakpoints.
        self._vm.breakpoints.step_probes  # noqa: B018
        self._make_probes(event, probes)
        assert self._probes is not None
        self._probes.arm(self._accessing(field, where["classes"]))
        self._probes.cover(self)

    def _accessing(self, field: Field, classes: str | None) -> list[Class]:
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
        name = b"\x01" + len(encode(field.name)).to_bytes(2, "big") + encode(field.name)
        return [
            one
            for one, status, pool in zip(
                loaded, pools.status_list(), pools.constant_pool_bytes, strict=True
            )
            if not status and name in bytes(pool)
        ]

    def _about_probe(self, probed: ProbedFrame) -> dict[str, Any]:
        values = probed.values
        about: dict[str, Any] = {"object": values[1], "field": self.field}
        if probed.place.probe.site is Site.WRITE:
            assert self.field is not None
            new_value = values[2]
            is_number = len(self.field.signature) == 1
            about |= {"is_write": True, "new_value": new_value.value if is_number else new_value}
        return about

    def _described(self) -> str:
        if self.field is None:
            assert self._named is not None
            return f"{'.'.join(self._named)}: pending, no such class is prepared yet"
        return f"{self.field.declaring_class.name}.{self.field.name}"


__all__ = ["Watchpoint"]
