"""How a profile is shown: as tables, a tree, JSON, or a file."""

from __future__ import annotations

import argparse
import sys
from fnmatch import fnmatchcase
from typing import Any

import numpy

from jvmti.commands.failure import FAILED, USAGE, CommandFailed
from jvmti.commands.profile.by import check_by_of_profile, column_of
from jvmti.commands.profile.options import PARTS
from jvmti.commands.profile.output_file import NotWritten, check_output, file_name, several_kinds
from jvmti.profile.errors import SeveralKinds
from jvmti.profile.files import suffix_of
from jvmti.profile.parts import part_name
from jvmti.profile.profile import Profile
from jvmti.report.tables import console, print_json, print_table
from jvmti.text.printable import printable
from jvmti.text.quantities import duration, quantity

__all__ = ["save", "save_part", "show", "show_difference"]

_COLUMNS = {"ns": "TIME", "bytes": "SIZE", "count": "COUNT"}
"""The heading of weights by their unit."""


def _chosen(given: argparse.Namespace, profile: Profile) -> Profile:
    """The part of a profile that was asked for."""
    if given.kinds:
        kinds = []
        for name in dict.fromkeys(given.kinds):
            try:
                kinds.append(profile[name].kind)
            except KeyError as error:
                raise CommandFailed(str(error.args[0]), FAILED) from None
        profile = (
            profile[kinds[0]]
            if len(kinds) == 1
            else profile.where(numpy.isin(profile.samples.kind, kinds))
        )
    if given.begin is not None or given.end is not None:
        whole = profile
        profile = profile.between(given.begin, given.end)
        if len(whole) and not len(profile):
            took = duration((whole.ended - whole.began) / 1e9)
            raise CommandFailed(f"no sample is between --from and --to; all have {took}", FAILED)
    if given.thread is not None:
        if not any(fnmatchcase(name, given.thread) for name in profile.threads.name):
            raise CommandFailed(f"no thread is called {printable(given.thread)}", FAILED)
        profile = _of_threads(profile, given.thread)
    check_by_of_profile(given, profile)
    return profile


def _of_threads(profile: Profile, pattern: str) -> Profile:
    wanted = [fnmatchcase(name, pattern) for name in profile.threads.name]
    return profile.where(numpy.array(wanted, bool)[profile.samples.thread])


def save_part(given: argparse.Namespace, profile: Profile) -> None:
    """Write one file of many; one without a sample is no reason to end.

    Raises:
        CommandFailed: the format takes one kind of samples only.
    """
    if given.thread is not None:
        profile = _of_threads(profile, given.thread)
    save(given, profile)


def _in_stacks(given: argparse.Namespace, profile: Profile) -> Profile:
    """The profile whose stacks are shown: each below its part, if parts were asked for."""
    return profile if given.by == "method" else profile.below(column_of(given.by))


def save(given: argparse.Namespace, profile: Profile) -> None:
    """Write the file that was asked for, and report it.

    Raises:
        CommandFailed: the format takes one kind of samples only.
        NotWritten: the file cannot be written.
    """
    path = file_name(given.output)
    try:
        _in_stacks(given, profile).save(path)
    except SeveralKinds:
        raise several_kinds(path, [kind.name.lower() for kind in profile.kinds]) from None
    except OSError as error:
        why = error.strerror or error
        raise NotWritten(printable(f"{path} cannot be written: {why}")) from None
    print(f"{printable(path)}: {_about(profile)}", file=sys.stderr)


def show(given: argparse.Namespace, profile: Profile) -> None:
    """Show a profile in the way that was asked for."""
    profile = _chosen(given, profile)
    if given.output is not None:
        save(given, profile)
        _complain(profile)
    elif given.json:
        print_json(_as_json(given, profile))
    else:
        for number, kind in enumerate(profile.kinds):
            if number:
                print()
            _print_kind(given, profile[kind] if len(profile) else profile)
        present = {kind.name.lower() for kind in profile.kinds}
        for name in dict.fromkeys(given.kinds or ()):
            if name not in present:
                print(f"\nno {name} samples")
        sys.stdout.flush()
        _complain(profile)


def _about(profile: Profile) -> str:
    kinds = " and ".join(kind.name.lower() for kind in profile.kinds) or "no"
    threads = profile._sampled_threads()
    seconds = (profile.ended - profile.began) / 1e9
    took = f" in {duration(seconds)}" if seconds else ""
    return f"{quantity(len(profile), f'{kinds} sample')} of {quantity(threads, 'thread')}{took}"


def _complain(profile: Profile) -> None:
    for one in profile.limits:
        whose = f"{one.process}: {one.kind.name.lower()}" if one.process else one.kind.name.lower()
        for text in one.complaints():
            print(printable(f"jvmti: {whose}: {text}"), file=sys.stderr)


def _print_kind(given: argparse.Namespace, profile: Profile) -> None:
    out = console()
    print(_about(profile))
    if not len(profile):
        return
    if given.tree or given.callers is not None:
        stacks = _in_stacks(given, profile)
        tree = stacks.tree() if given.callers is None else stacks.callers(given.callers)
        if not tree:
            print("no stack has it" if given.callers is not None else "no stacks")
        lines = tree.lines()
        for line in lines[: given.top * 10]:
            out.print(printable(line))
        if len(lines) > given.top * 10:
            print(
                f"… and {len(lines) - given.top * 10:,} more lines; --top {given.top * 2} has more"
            )
        return
    if given.by in PARTS:
        by = column_of(given.by)
        print_table(
            [f">{_COLUMNS[profile.kind.unit]}", ">%", given.by.upper()],
            [
                [profile.amount(weight), f"{share:.1%}", printable(part_name(by, name))]
                for name, weight, share in _parts(profile, by)[: given.top]
            ],
        )
        return
    print_table(
        [">SELF", ">%", ">TOTAL", ">%", given.by.upper()],
        [
            [
                profile.amount(one.own),
                f"{one.own_share:.1%}",
                profile.amount(one.total),
                f"{one.share:.1%}",
                one.name,
            ]
            for one in profile.top(given.top, given.by)
        ],
    )


def _parts(profile: Profile, by: str) -> list[tuple[str, int, float]]:
    """The parts with their weights and shares, the largest first."""
    whole = profile.weight or 1
    return [(name, weight, weight / whole) for name, weight in profile.by(by).weights.items()]


def _as_json(given: argparse.Namespace, profile: Profile) -> dict[str, Any]:
    found: dict[str, Any] = {
        "began": profile.began,
        "ended": profile.ended,
        "threads": profile._sampled_threads(),
        "limits": [one.as_json() for one in profile.limits],
        "kinds": {},
    }
    for kind in profile.kinds:
        part = profile[kind] if len(profile) else profile
        found["kinds"][kind.name.lower()] = {
            "unit": kind.unit,
            "samples": len(part),
            "weight": part.weight,
            "by": given.by,
            "top": [
                {"name": name, "total": weight, "share": share}
                for name, weight, share in _parts(part, column_of(given.by))[: given.top]
            ]
            if given.by in PARTS
            else [one._asdict() for one in part.top(given.top, given.by)],
        }
    return found


# Differences


def show_difference(given: argparse.Namespace, before: Profile, after: Profile) -> None:
    """Show what changed between two profiles.

    Raises:
        CommandFailed: they cannot be compared.
    """
    before, after = _chosen(given, before), _chosen(given, after)
    for path, profile in zip(given.files, (before, after), strict=True):
        names = [kind.name.lower() for kind in profile.kinds]
        if len(names) > 1:
            what = f"{path} has samples of {' and '.join(names)}: choose --{' or --'.join(names)}"
            raise CommandFailed(printable(what), USAGE)
    try:
        difference = before.diff(after)
    except ValueError as error:
        raise CommandFailed(printable(str(error)), USAGE) from None
    if given.output is not None:
        if suffix_of(given.output) != ".html":
            raise CommandFailed("a comparison is written as .html only", USAGE)
        check_output(given)
        path = file_name(given.output)
        difference.flame(f"{given.files[0]} → {given.files[1]}").save(path)
        print(f"{printable(path)}: {difference.unit}", file=sys.stderr)
        return
    rows = difference.top(given.top)
    if given.json:
        changes = [
            one._asdict() | {"own_change": one.own_change, "change": one.change} for one in rows
        ]
        print_json({"per": difference.per, "kind": before.kind.name.lower(), "changes": changes})
        return
    print(difference.unit)
    print_table(
        [">CHANGE", ">BEFORE", ">AFTER", ">TOTAL BEFORE", ">TOTAL AFTER", "METHOD"],
        [
            [
                difference.amount(one.own_change, "+"),
                difference.amount(one.own_before),
                difference.amount(one.own_after),
                difference.amount(one.before),
                difference.amount(one.after),
                one.name,
            ]
            for one in rows
        ],
    )
