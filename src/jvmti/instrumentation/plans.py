"""Plans: probes as the class file library and the agent read them."""

from __future__ import annotations

from collections.abc import Iterable

from jvmti.instrumentation.probes import BadProbe, Operand, Probe
from jvmti.layouts.probes import HEADER, NO_TEXT, OPERAND, PLAN, PROBE, TEST
from jvmti.layouts.probes import Operand as Kind
from jvmti.text.modified_utf8 import encode


def plan_of(probes: Iterable[Probe]) -> bytes:
    """The plan of some probes, see `jvmti.layouts.probes`.

    Raises:
        BadProbe: there are too many, or one uses a value that no entry keeps.
    """
    listed = list(probes)
    keepers = {one.keeps: number for number, one in enumerate(listed) if one.keeps}
    texts: dict[str, int] = {}
    text_bytes = bytearray()

    def text(value: str | None) -> int:
        if value is None:
            return NO_TEXT
        if "\0" in value:
            raise BadProbe(f"{value!r} contains a zero character")
        if value not in texts:
            texts[value] = len(text_bytes)
            text_bytes.extend(encode(value) + b"\0")
        return texts[value]

    def packed(operand: Operand) -> bytes:
        number = operand.number
        if operand.kind in (Kind.KEPT, Kind.TOOK):
            if operand.text not in keepers:
                raise BadProbe(
                    f"{operand.text!r}: no such value, and no entry keeps it; "
                    f"'entry … -> {operand.text} = com.acme.Hook.now()' would"
                )
            number = keepers[operand.text]
        name = operand.text if operand.kind in (Kind.TEXT, Kind.LOCAL, Kind.NAMED) else None
        return OPERAND.struct.pack(
            *(operand.kind, ord(operand.type), number, text(name), text(operand.path))
        )

    rows: list[bytes] = []
    operands: list[bytes] = []
    steps: list[bytes] = []
    for one in listed:
        first_step = len(steps)
        for step in one.condition:
            steps.append(
                TEST.struct.pack(
                    *(step.operation, len(operands), step.holds, ord(step.type), step.constant),
                    *(text(step.text), text(step.path)),
                )
            )
            if step.operand is not None:
                operands.append(packed(step.operand))
        first = len(operands)
        operands += map(packed, one.operands)
        patterns = (one.classes, one.methods, one.descriptors, one.annotated, one.extends)
        rows.append(
            PROBE.struct.pack(
                *(one.site, one.outcome, ord(one.result), one.number, first, len(one.operands)),
                *map(text, patterns),
                *(text(one.owners), text(one.members), text(one.member_descriptors)),
                *(text(one.helper.replace(".", "/")), text(one.name)),
                *(one.record_size, one.text_size),
                *(first_step, len(one.condition), one.conditional, one.event, one.about),
                text(one.loader),
            )
        )
    if len(rows) > PLAN.PROBES or len(text_bytes) > PLAN.TEXT or len(steps) > PLAN.TESTS:
        raise BadProbe(f"{len(rows):,} probes are too many; {PLAN.PROBES:,} may be in one plan")
    counts = (len(rows), len(operands), len(steps), len(text_bytes))
    header = HEADER.struct.pack(PLAN.MAGIC, *counts, 0)
    return b"".join([header, *rows, *operands, *steps, text_bytes])


__all__ = ["plan_of"]
