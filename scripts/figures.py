"""Prints figures of the sources at commits, one column for each: sizes, circles, old words.

    python scripts/figures.py e1e7117 main

It reads the commits from Git, without a checkout. docs/architecture.md has the table.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "pages")]

from test_glossary import ELSEWHERE, FOLDERS, KINDS, OLD  # noqa: E402

Sources = Mapping[str, str]

CODE = {".py", ".h", ".cpp", ".java", ".js", ".css", ".html"}

PARTS = {
    "`src/jvmti`": ("src/jvmti/",),
    "`native/agent`": ("native/agent/",),
    "the rest of `native`": ("native/",),
    "`tests`": ("tests/",),
    "`benchmarks`, `scripts`, `examples`": ("benchmarks/", "scripts/", "examples/"),
}
"""A file counts in the first of these that it is in."""

SECOND_LISTS = {
    "layouts of messages written in Python beside C++": (r"src/jvmti/", r'Struct\("<\w\w+"\)'),
    "declarations of overrides and operations by hand": (
        r"native/agent/own[.]h",
        r"^\w+ \w+\(Call& call",
    ),
    "names of events in the generator": (
        r"native/agent/generate",
        r'declaration\.name (?:==|in) ["(]|\bif name in \("',
    ),
    "hooks of a session typed Any": (
        r"src/jvmti/wire/session[.]py",
        r"^        self\.\w+: Any = None$",
    ),
}
"""Second lists that can be counted: which files, and the pattern of an entry."""


def sources(commit: str) -> dict[str, str]:
    """The texts of a commit by path."""
    listed = _git("ls-tree", "-r", "-z", commit).decode().split("\0")[:-1]
    entries = [entry.split("\t", 1) for entry in listed if " blob " in entry]
    wanted = "".join(f"{about.split()[2]}\n" for about, _ in entries)
    answer = _git("cat-file", "--batch", given=wanted.encode())
    found, at = {}, 0
    for _, path in entries:
        end = answer.index(b"\n", at)
        size = int(answer[at:end].split()[2])
        found[path] = answer[end + 1 : end + 1 + size].decode(errors="replace")
        at = end + 1 + size + 1
    return found


def _git(*words: str, given: bytes | None = None) -> bytes:
    command = ["git", "-C", str(ROOT), *words]
    return subprocess.run(command, input=given, stdout=subprocess.PIPE, check=True).stdout


def lines(text: str) -> int:
    return text.count("\n")


def sizes(files: Sources) -> dict[str, str]:
    """Files and lines of each part."""
    left = {path: text for path, text in files.items() if PurePosixPath(path).suffix in CODE}
    found = {}
    for part, roots in PARTS.items():
        its = [path for path in left if path.startswith(roots)]
        found[f"{part}: files, lines"] = f"{len(its):,}, {sum(lines(left[p]) for p in its):,}"
        for path in its:
            del left[path]
    return found


def largest(files: Sources) -> dict[str, str]:
    """The folder with most files, and the longest file, of the package and the agent."""
    found = {}
    for root in ("src/jvmti", "native/agent"):
        its = {
            PurePosixPath(path): lines(text)
            for path, text in files.items()
            if path.startswith(f"{root}/") and PurePosixPath(path).suffix in CODE
        }
        folder, count = Counter(path.parent for path in its).most_common(1)[0]
        found[f"most files in a folder of `{root}`"] = f"{count} (`{folder.relative_to(root)}`)"
        long = max(its, key=lambda path: its[path])
        found[f"longest file of `{root}`"] = f"{its[long]:,} (`{long.name}`)"
    return found


def chain(files: Sources) -> dict[str, str]:
    """The parameters of the calls from a declared method down to its message, level by level.

    A level is a function of `jvmti.wire` that another one calls by name; the chain is the one
    with the most parameters in all.
    """
    counts: dict[str, int] = {}
    calls: dict[str, set[str]] = {}
    for path, text in files.items():
        if path.startswith("src/jvmti/wire/") and path.endswith(".py"):
            for one in ast.walk(ast.parse(text)):
                if isinstance(one, ast.FunctionDef):
                    given = [*one.args.posonlyargs, *one.args.args, *one.args.kwonlyargs]
                    taken = len([a for a in given if a.arg not in ("self", "cls")])
                    if taken > 4:
                        counts[one.name] = max(taken, counts.get(one.name, 0))
                        calls.setdefault(one.name, set()).update(_called(one))

    def longest(name: str, above: tuple[str, ...] = ()) -> list[str]:
        below = [
            longest(one, (*above, name)) for one in calls[name] & counts.keys() - {name, *above}
        ]
        return [name, *max(below, key=lambda c: sum(counts[n] for n in c), default=[])]

    found = max(map(longest, counts), key=lambda c: sum(counts[n] for n in c), default=[])
    return {
        "parameters of the longest chain of calls with five or more": ", ".join(
            str(counts[n]) for n in found
        )
    }


def _called(function: ast.AST) -> set[str]:
    names = set()
    for one in ast.walk(function):
        if isinstance(one, ast.Call):
            if isinstance(one.func, ast.Attribute):
                names.add(one.func.attr)
            elif isinstance(one.func, ast.Name):
                names.add(one.func.id)
    return names


def circles(files: Sources) -> dict[str, str]:
    """Folders of the package that import each other in a circle."""
    imports: dict[bool, dict[str, set[str]]] = {True: {}, False: {}}
    for path, text in files.items():
        parts = PurePosixPath(path).parts
        if path.startswith("src/jvmti/") and path.endswith(".py") and len(parts) > 3:
            for annotations in imports:
                its = imports[annotations].setdefault(parts[2], set())
                for name in _imported(ast.parse(text), annotations=annotations):
                    its.update(name.split(".")[1:2] if name.startswith("jvmti.") else ())
    names = {
        False: "folders in a circle of imports",
        True: "the same, annotations included",
    }
    return {names[which]: str(_in_circles(imports[which])) for which in names}


def _imported(tree: ast.AST, *, annotations: bool) -> list[str]:
    found: list[str] = []
    left = [tree]
    while left:
        one = left.pop()
        if isinstance(one, ast.If) and "TYPE_CHECKING" in ast.unparse(one.test) and not annotations:
            left += one.orelse
        elif isinstance(one, ast.ImportFrom) and not one.level:
            found += [f"{one.module}.{name.name}" for name in one.names]
        elif isinstance(one, ast.Import):
            found += [name.name for name in one.names]
        else:
            left += ast.iter_child_nodes(one)
    return found


def _in_circles(imports: Mapping[str, set[str]]) -> int:
    def reached(start: str) -> set[str]:
        seen: set[str] = set()
        left = [start]
        while left:
            for name in imports.get(left.pop(), set()) - {start} & imports.keys() | set():
                if name in imports and name not in seen:
                    seen.add(name)
                    left.append(name)
        return seen

    every = {name: reached(name) for name in imports}
    return sum(any(name in every[other] for other in every[name]) for name in imports)


def second_lists(files: Sources) -> dict[str, str]:
    return {
        what: str(
            sum(
                len(re.findall(pattern, text, re.M))
                for path, text in files.items()
                if re.match(where, path)
            )
        )
        for what, (where, pattern) in SECOND_LISTS.items()
    }


def old_words(files: Sources) -> dict[str, str]:
    """Words that the glossary avoids, by the patterns of its test."""
    elsewhere = {path.relative_to(ROOT).as_posix() for path in ELSEWHERE}
    found = sum(
        len(re.findall(form, text, re.M))
        for path, text in files.items()
        if path.startswith(tuple(f"{folder}/" for folder in FOLDERS)) or "/" not in path
        if PurePosixPath(path).suffix in KINDS and path not in elsewhere
        if PurePosixPath(path).name != "test_glossary.py"
        for forms in OLD.values()
        for quick, form in forms.items()
        if quick in text
    )
    return {"words of the glossary in their old form": str(found)}


FIGURES: tuple[Callable[[Sources], dict[str, str]], ...] = (
    sizes,
    largest,
    chain,
    circles,
    second_lists,
    old_words,
)


def main(commits: list[str]) -> None:
    columns = []
    for commit in commits:
        files = sources(commit)
        columns.append({name: value for each in FIGURES for name, value in each(files).items()})
    print("| figure |", " | ".join(commits), "|")
    print("|---|" + "--:|" * len(commits))
    for name in columns[0]:
        print(f"| {name} |", " | ".join(column[name] for column in columns), "|")


if __name__ == "__main__":
    main(sys.argv[1:] or ["HEAD"])
