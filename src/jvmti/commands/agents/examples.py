"""``jvmti examples``."""

from __future__ import annotations

import argparse
import ast
import os
import shutil
from pathlib import Path
from typing import Any

import jvmti
from jvmti.commands.failure import USAGE, CommandFailed
from jvmti.commands.options.targets import add_json
from jvmti.commands.parsing import mistyped
from jvmti.report.tables import print_json, print_table


class Command:
    """List the example agents that come with the package, print or copy them.

      jvmti examples
      jvmti examples mtrace
      jvmti examples --copy ~/agents
      jvmti run "$(jvmti examples --path mtrace)" -- java -jar app.jar

    Each is one Python file for `jvmti run` and `jvmti attach`, made to be read and changed.
    """

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        """Add the arguments."""
        parser.usage = f"{parser.prog} [options] [NAME …]"
        parser.add_argument(
            "names", nargs="*", metavar="NAME", help="print these (default: list all)"
        )
        parser.add_argument(
            "--path", action="store_true", help="print their paths instead of their contents"
        )
        parser.add_argument(
            "--copy", metavar="DIRECTORY", help="copy them there; all of them without a name"
        )
        parser.add_argument("--force", action="store_true", help="with --copy: overwrite files")
        add_json(parser)

    def run(self, given: argparse.Namespace) -> None:
        """List, print or copy."""
        known = examples()
        for name in given.names:
            if name.removesuffix(".py") not in known:
                raise CommandFailed(mistyped("example", name, known), USAGE)
        chosen = {name: known[name] for name in (n.removesuffix(".py") for n in given.names)}
        if given.copy is not None:
            _copy(chosen or known, Path(given.copy), given.force)
        elif given.json:
            print_json([_described(name, path) for name, path in (chosen or known).items()])
        elif given.path:
            print("\n".join(str(path) for path in (chosen or known).values()))
        elif chosen:
            for path in chosen.values():
                print(path.read_text(encoding="utf-8"), end="")
        else:
            rows = [_described(name, path) for name, path in known.items()]
            print_table(["NAME", "WHAT IT DOES"], [[row["name"], row["what"]] for row in rows])


def examples() -> dict[str, Path]:
    """The example agents by name.

    Raises:
        CommandFailed: this installation has none.
    """
    package = Path(jvmti.__file__).parent
    # In a wheel, or beside the sources.
    for place in (package / "examples" / "agents", package.parents[1] / "examples" / "agents"):
        found = {path.stem: path for path in sorted(place.glob("*.py"))}
        if found:
            return found
    raise CommandFailed("this installation of the package has no examples")


def _described(name: str, path: Path) -> dict[str, Any]:
    source = path.read_text(encoding="utf-8")
    text = ast.get_docstring(ast.parse(source)) or ""
    return {"name": name, "path": str(path), "what": text.split("\n\n")[0].replace("\n", " ")}


def _copy(chosen: dict[str, Path], to: Path, force: bool) -> None:
    try:
        to.mkdir(parents=True, exist_ok=True)
        there = [path.name for path in chosen.values() if os.path.lexists(to / path.name)]
        if there and not force:
            raise CommandFailed(f"{to / there[0]} exists; --force overwrites it", USAGE)
        for path in chosen.values():
            shutil.copyfile(path, to / path.name)
            print(to / path.name)
    except OSError as error:
        raise CommandFailed(f"{to} cannot be written to: {error.strerror}") from None


__all__ = ["Command", "examples"]
