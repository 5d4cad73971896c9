"""``jvmti heap scan``."""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy

from jvmti.commands.failure import USAGE, CommandFailed
from jvmti.commands.options.targets import (
    add_delay,
    add_json,
    add_max_pause,
    add_target,
    add_top,
    no_target_but_the_program,
    opened,
)
from jvmti.heap.errors import NoSuchClass
from jvmti.liveheap.scan import Instances, Scan
from jvmti.model.vm import VM
from jvmti.report.tables import console, print_json, print_table
from jvmti.text.printable import printable
from jvmti.text.quantities import duration, quantity

_TOP = 30
_ELEMENTS = 16
"""Elements shown of an array."""
_LONGEST = 200
"""Characters shown of a text."""


class Command:
    """Show the objects of some classes, with their primitive fields, texts and elements.

      jvmti heap scan MyServer com.acme.Order --where '(total > 1000) & ~paid'
      jvmti heap scan MyServer java.lang.String --containing secret
      jvmti heap scan MyServer 'byte[]' --top 5 --json

    The scan stops the program for about 50 ms per million objects in the heap, whatever the
    classes.
    """

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        """Add the arguments."""
        add_target(parser)
        parser.usage = (
            f"{parser.prog} [options] TARGET PATTERN …\n"
            f"       {parser.prog} [options] PATTERN … -- java …"
        )
        parser.add_argument(
            "patterns", nargs="*", metavar="PATTERN", help="the classes: com.acme.Order, 'java.*'"
        )
        add_json(parser)
        parser.add_argument(
            "--where",
            metavar="EXPRESSION",
            help="only objects for which this is true; fields, size and length are NumPy columns",
        )
        parser.add_argument("--containing", metavar="TEXT", help="only strings that contain it")
        add_top(parser, _TOP)
        add_max_pause(parser)
        add_delay(parser)

    def run(self, given: argparse.Namespace) -> None:
        """Print the objects."""
        no_target_but_the_program(given, given.patterns)
        if not given.patterns and (given.target is not None or given.launched is not None):
            given.parser.error("a pattern for classes is missing")
        with opened(given) as vm:
            if given.launched:
                time.sleep(given.delay)
            try:
                scan = vm.heap.scan(
                    given.patterns,
                    strings=True,
                    fields=True,
                    arrays=True,
                    max_pause=given.max_pause,
                )
            except NoSuchClass as error:
                raise CommandFailed(printable(str(error))) from None
            found = Instances(scan, numpy.arange(len(scan)))
            if given.containing:
                strings = scan.strings
                found = scan.rows(strings.row[strings.containing(given.containing)])
            if given.where:
                found = found.where(_mask(found, given.where))
            largest = found.largest(given.top)
            objects = _objects(scan, largest)
            if given.json:
                print_json(_as_json(vm, scan, found, objects))
            else:
                _print(vm, scan, found, objects)


def _mask(found: Instances, expression: str) -> Any:
    """The value of the user's expression for each object."""
    columns: dict[str, Any] = {name: found[name] for name in found.fields}
    columns |= {"size": found.size, "length": found.length, "numpy": numpy}
    try:
        mask = numpy.asarray(eval(expression, {"__builtins__": {}}, columns))
    except Exception as error:
        names = ", ".join(sorted(columns))
        raise CommandFailed(
            f"--where: {type(error).__name__}: {error}; the columns are {printable(names)}", USAGE
        ) from None
    if mask.dtype != bool or mask.shape != (len(found),):
        raise CommandFailed("--where: the expression must be true or false for each object", USAGE)
    return mask


def _objects(scan: Scan, largest: Instances) -> list[dict[str, Any]]:
    order = numpy.argsort(-largest.size, kind="stable")
    texts = largest.text
    arrays = scan.arrays
    places = numpy.searchsorted(arrays.row, largest.row)
    objects: list[dict[str, Any]] = []
    for at in order.tolist():
        row = int(largest.row[at])
        one: dict[str, Any] = {
            "class": scan.names[int(scan.class_number[row])],
            "size": int(largest.size[at]),
            "length": int(largest.length[at]) if largest.length[at] >= 0 else None,
        }
        place = int(places[at])
        single = scan.rows([row])
        if texts[at] is not None:
            one["text"] = texts[at]
        elif place < len(arrays) and int(arrays.row[place]) == row:
            elements = arrays[place]
            one["elements"] = None if elements is None else elements[:_ELEMENTS].tolist()
        else:
            one["fields"] = {name: single[name][0].item() for name in single.fields}
        objects.append(one)
    return objects


def _as_json(vm: VM, scan: Scan, found: Instances, objects: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "pid": vm.process.pid,
        "main": vm.process.main,
        "time": time.time(),
        "pause": scan.pause,
        "missed": scan.missed,
        "count": len(found),
        "bytes": int(found.size.sum()),
        "objects": objects,
    }


def _print(vm: VM, scan: Scan, found: Instances, objects: list[dict[str, Any]]) -> None:
    console().print(
        f"{vm.process.pid} {printable(vm.process.main)}: {quantity(len(found), 'object')} of "
        f"{quantity(int(found.size.sum()), 'byte')}; stopped for {duration(scan.pause)}"
    )
    cells: list[list[object]] = []
    for one in objects:
        if "text" in one:
            contents = one["text"][:_LONGEST]
        elif "elements" in one:
            more = " …" if one["length"] > _ELEMENTS else ""
            contents = " ".join(map(str, one["elements"] or ())) + more
        else:
            contents = ", ".join(f"{name}={value}" for name, value in one["fields"].items())
        cells.append([f"{one['size']:,}", one["length"], one["class"], contents])
    print_table([">BYTES", ">LENGTH", "CLASS", "CONTENTS"], cells)
    if len(objects) < len(found):
        console().print(f"… and {len(found) - len(objects):,} more; --top shows more of them")
