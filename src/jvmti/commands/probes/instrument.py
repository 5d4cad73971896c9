"""``jvmti instrument``."""

from __future__ import annotations

import argparse
import json
import os
import shutil
from collections import Counter
from pathlib import Path

from jvmti.commands.failure import USAGE, CommandFailed
from jvmti.commands.options.targets import add_json
from jvmti.instrumentation.archives import Summary, instrument_file
from jvmti.instrumentation.probes import BadProbe, Probe
from jvmti.interface.errors import Error
from jvmti.text.printable import printable
from jvmti.text.quantities import quantity


class Command:
    """Put probes into the classes of a jar or a directory.

      jvmti instrument app.jar -o out.jar --probe 'entry com.acme.*.* -> Hook.in(String method)'
      jvmti instrument classes -o out --probes FILE

    A probe is WHERE -> CLASS.METHOD(TYPE WHAT, …): where it is, and which static method of yours it
    calls. WHERE is `entry`, `return`, `unwind`, `throw`, `line`, `index`, `monitor-enter` or
    `monitor-exit` with CLASS.METHOD; or `read`, `write`, `call`, `called`, `new` or `catch` of
    something, in CLASS.METHOD. "annotated PATTERN" and "extends PATTERN" may follow. No JVM is
    needed. The class that is called must be on the program's class path.
    """

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        """Add the arguments."""
        parser.usage = f"{parser.prog} [options] FILE -o FILE (--probe PROBE | --probes FILE) …"
        parser.add_argument("file", metavar="FILE", help="a jar, a directory or a class file")
        parser.add_argument("-o", "--output", metavar="FILE", required=True, help="where to write")
        parser.add_argument("--force", action="store_true", help="overwrite existing files")
        parser.add_argument(
            "--probe", metavar="PROBE", action="append", default=[], help="a probe; may be repeated"
        )
        parser.add_argument(
            "--probes",
            metavar="FILE",
            action="append",
            default=[],
            help="a file with a probe on each line; # begins a comment",
        )
        parser.add_argument(
            "--sites",
            metavar="FILE",
            help="write the place of each site number, a JSON object a line",
        )
        add_json(parser)

    def run(self, given: argparse.Namespace) -> None:
        """Instrument, and print what was done."""
        probes = _probes(given)
        source, target = Path(given.file), Path(given.output)
        if not source.exists():
            raise CommandFailed(f"{printable(given.file)} does not exist", USAGE)
        if os.path.lexists(target):
            if not given.force:
                raise CommandFailed(
                    f"{printable(given.output)} exists; --force overwrites it", USAGE
                )
            if target.exists() and source.exists() and target.samefile(source):
                raise CommandFailed("the output is the input: choose another name", USAGE)
        try:
            done = _instrument(source, target, probes, given.force)
            if given.sites and done.changed:
                with open(given.sites, "w", encoding="utf-8") as file:
                    file.writelines(json.dumps(one._asdict()) + "\n" for one in done.sites)
        except BadProbe as error:
            raise CommandFailed(printable(str(error)), USAGE) from None
        except OSError as error:
            raise CommandFailed(
                f"{printable(error.filename or given.output)}: {error.strerror or error}"
            ) from None
        except Error as error:
            raise CommandFailed(printable(str(error))) from None
        if given.json:
            from jvmti.report.tables import print_json  # needs rich, too

            print_json(_described(done))
        else:
            _print(done, probes)
        if not done.changed:
            raise CommandFailed("no probe has a place in any class; nothing was written")


def _instrument(source: Path, target: Path, probes: list[Probe], force: bool) -> Summary:
    from jvmti.report.progress import progress  # needs rich, which --help does without

    with progress("instrumenting") as report:
        if not (force and os.path.lexists(target)):
            return instrument_file(source, target, probes, report=report)
        fresh = target.with_name(f".{target.name}.new")
        done = instrument_file(source, fresh, probes, report=report)
        if not done.changed:
            return done
        if target.is_dir() and not target.is_symlink():
            shutil.rmtree(target)
        else:
            target.unlink()
        fresh.rename(target)
        return done


def _probes(given: argparse.Namespace) -> list[Probe]:
    found = [(f"--probe {text!r}", text) for text in given.probe]
    for path in given.probes:
        try:
            lines = Path(path).read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise CommandFailed(f"{printable(path)} cannot be read: {error}", USAGE) from None
        for number, line in enumerate(lines, 1):
            if line.strip() and not line.lstrip().startswith("#"):
                found.append((f"{path}:{number}", line.strip()))
    if not found:
        raise CommandFailed(
            "no probe: add --probe 'entry com.acme.* -> com.acme.Hook.entered(String method)'",
            USAGE,
        )
    probes = []
    for where, text in found:
        try:
            probes.append(Probe.parse(text))
        except BadProbe as error:
            raise CommandFailed(printable(f"{where}: {error}"), USAGE) from None
    return probes


def _described(done: Summary) -> dict[str, object]:
    return {
        "classes": done.classes,
        "changed": done.changed,
        "probes": len(done.sites),
        "omitted": [{"entry": entry, **one._asdict()} for entry, one in done.omitted],
        "unreadable": [{"entry": entry, "why": why} for entry, why in done.unreadable],
        "unsigned": done.unsigned,
    }


def _print(done: Summary, probes: list[Probe]) -> None:
    print(
        f"{quantity(len(done.sites), 'probe')} in {done.changed:,} of "
        f"{quantity(done.classes, 'class')}"
    )
    counts = Counter(one.probe for one in done.sites)
    for number, probe in enumerate(probes):
        if not counts[number]:
            print(printable(f"without a place: {probe}"))
    for why, count in Counter(one.why for _, one in done.omitted).items():
        print(f"left out in {quantity(count, 'place')}: {why}")
    for entry, why in done.unreadable[:10]:
        print(printable(f"copied unchanged: {entry}: {why}"))
    if done.unsigned and done.changed:
        print("signatures were left out, because they would be invalid")


__all__ = ["Command"]
