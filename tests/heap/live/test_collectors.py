"""The same answers with every collector, and with other layouts of objects."""

from __future__ import annotations

import numpy
import pytest

import jvms
import jvmti
import programs

LAYOUTS = {
    "serial": ["-XX:+UseSerialGC"],
    "parallel": ["-XX:+UseParallelGC"],
    "g1": ["-XX:+UseG1GC"],
    "z": ["-XX:+UseZGC"],
    "shenandoah": ["-XX:+UseShenandoahGC"],
    "wide pointers": ["-XX:-UseCompressedOops"],
    "compact headers": ["-XX:+UseCompactObjectHeaders"],
    "wide strings": ["-XX:-CompactStrings"],
    "aligned to 16": ["-XX:ObjectAlignmentInBytes=16"],
}
NOT_EVERYWHERE = ("z", "shenandoah", "compact headers")


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_collector_and_layout(
    layout: str, jvm: jvms.Jvm, java_program: programs.JavaPrograms
) -> None:
    options = ["-XX:+UnlockExperimentalVMOptions", *LAYOUTS[layout]]
    if jvm.name == "zero" and layout in ("z", "shenandoah"):
        pytest.skip("the interpreter-only VM does not have it")
    if layout in NOT_EVERYWHERE:
        try:
            jvm.run(*options, "-Xmx256m", "-version")
        except AssertionError:
            pytest.skip(f"JVM {jvm} has no {' '.join(LAYOUTS[layout])}")
    program = java_program("Holdings", jvm_args=[*options, "-Xmx256m"])
    program.expect("ready")
    program.ask("gc")
    with jvmti.attach(program.pid) as vm:
        histogram = vm.heap.histogram()
        assert histogram["Holdings$Item"].count == 10_000
        scan = vm.heap.scan(strings=True, fields=True, arrays=True)
        found = scan.by_class()
        for name in ("Holdings$Order", "Holdings$Item", "Holdings$Item[]", "Holdings$Safe"):
            row = histogram[name]
            assert found[name] == (row.count, row.bytes)
        orders = scan["Holdings$Order"]
        assert sorted(orders["number"].tolist()) == list(range(1000))
        assert orders["total"].sum() == sum(range(1000)) * 10_000_000_000
        texts = set(scan.strings)
        assert {f"order-{number}" for number in range(1000)} <= texts
        assert "日本 😀" in texts
        assert scan.strings.containing("日本 😀").sum() >= 1
        assert [3, 1, 4, 1, 5] in [one.tolist() for one in scan.arrays if len(one) == 5]

        live = orders.live()
        assert live.coverage >= 0.95
        if live.collections == 0:
            field = vm.jni.get_field_id(vm.find_class("Holdings$Order"), "number", "I")
            numbers = [vm.jni.get_int_field(one, field) for one in live.objects]
            assert (numpy.array(numbers) == orders["number"]).mean() >= 0.95

        (safe,) = vm.find_class("Holdings$Safe").instances()
        assert [str(one) for one in safe.path_to_root()] == ["static Holdings.vault"]
        retained = safe.retained_size()
        assert retained.count == 8
        assert retained.bytes > 100_000
        (customer,) = (
            one
            for one in vm.find_class("Holdings$Customer").instances()
            if len(one.referrers(limit=0)) == 0 and one.referrers().total == 102
        )
        assert customer.retained_size().count == 3
