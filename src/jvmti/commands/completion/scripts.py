"""Completion scripts for shells, generated from the parsers of the commands."""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field

SHELLS = ("bash", "zsh", "fish")

_FILES = frozenset({"FILE", "OUTPUT", "SCRIPT", "AFTER", "SCRIPT[=OPTIONS]", "PATH", "DIRECTORY"})


@dataclass
class Option:
    """An option of a command."""

    #: Its spellings.
    names: list[str]
    #: Its help text.
    help: str
    #: Whether it takes a value.
    takes: bool
    #: The possible values, if known.
    choices: list[str]
    #: Whether the value is a file.
    file: bool


@dataclass
class Words:
    """The words that may follow a command."""

    #: Its help text.
    summary: str
    #: Its options.
    options: list[Option] = field(default_factory=list)
    #: Commands below it.
    below: dict[str, Words] = field(default_factory=dict)
    #: Whether it takes a running JVM.
    target: bool = False
    #: Whether it takes a file.
    file: bool = False
    #: Other words that may follow.
    plain: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, parser: argparse.ArgumentParser, summary: str) -> Words:
        """The words of a parser and of those below it."""
        made = cls(summary)
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction):
                texts = {one.dest: one.help or "" for one in action._choices_actions}
                for name, sub in action.choices.items():
                    made.below[name] = cls.of(sub, texts[name])
            elif action.option_strings:
                made.options.append(
                    Option(
                        list(action.option_strings),
                        _text(action.help),
                        action.nargs != 0,
                        [str(one) for one in action.choices or ()],
                        action.metavar in _FILES,
                    )
                )
            else:
                made.target = made.target or action.dest == "target"
                made.file = made.file or action.metavar in _FILES
                made.plain += [str(one) for one in action.choices or ()]
        usage = str(parser.usage or "")
        made.file = made.file or "FILE" in usage
        return made

    def all(self, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Words]]:
        """This command and all below it, each with its words."""
        yield path, self
        for name, words in self.below.items():
            yield from words.all((*path, name))


def _text(help_: str | None) -> str:
    text = re.sub(r"\s+", " ", (help_ or "").replace("%%", "%"))
    return text.partition(";")[0]


def script(shell: str, words: Words) -> str:
    """The script for a shell."""
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](words)


def _key(path: tuple[str, ...]) -> str:
    return " ".join(path)


# ---- bash ---------------------------------------------------------------------------------------

_BASH = r"""# Completes the words of `jvmti` in bash; made by `jvmti completion bash`.
_jvmti() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}
    local key='' word i skip=0
    local options='' words='' values='' target='' files=''
    for ((i = 1; i < COMP_CWORD; ++i)); do
        word=${COMP_WORDS[i]}
        [[ $word == -- ]] && { COMPREPLY=($(compgen -c -f -- "$cur")); return; }
        case "${key:+$key }$word" in
            @KEYS@) key="${key:+$key }$word" ;;
        esac
    done
    case "$key" in
@CASES@
    esac
    case "$key:$prev" in
@VALUES@
    esac
    if [[ -n $values ]]; then
        case $values in
            /file) compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- "$cur")) ;;
            /any) COMPREPLY=() ;;
            *) COMPREPLY=($(compgen -W "$values" -- "$cur")) ;;
        esac
        return
    fi
    if [[ $cur == -* ]]; then
        COMPREPLY=($(compgen -W "$options" -- "$cur"))
        return
    fi
    if [[ -n $target ]]; then
        words+=" $("${COMP_WORDS[0]}" completion --targets 2>/dev/null | cut -f1)"
    fi
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
    if [[ -n $files ]]; then
        compopt -o filenames 2>/dev/null
        COMPREPLY+=($(compgen -f -- "$cur"))
    fi
}
complete -F _jvmti jvmti
"""


def _bash(root: Words) -> str:
    keys = [_key(path) for path, _ in root.all() if path]
    cases, values = [], []
    for path, words in root.all():
        names = " ".join(name for option in words.options for name in option.names)
        parts = [f"options={shlex.quote(names)}"]
        if words.below or words.plain:
            parts.append(f"words={shlex.quote(' '.join([*words.below, *words.plain]))}")
        if words.target:
            parts.append("target=1")
        if words.file:
            parts.append("files=1")
        cases.append(f"        {shlex.quote(_key(path))}) {'; '.join(parts)} ;;")
        for option in words.options:
            if option.takes:
                what = "/file" if option.file else " ".join(option.choices) or "/any"
                where = "|".join(shlex.quote(f"{_key(path)}:{name}") for name in option.names)
                values.append(f"        {where}) values={shlex.quote(what)} ;;")
    return (
        _BASH.replace("@KEYS@", "|".join(map(shlex.quote, keys)))
        .replace("@CASES@", "\n".join(cases))
        .replace("@VALUES@", "\n".join(values))
    )


# ---- zsh ----------------------------------------------------------------------------------------

_ZSH = r"""#compdef jvmti
# Completes the words of `jvmti` in zsh; made by `jvmti completion zsh`.
_jvmti_targets() {
    local -a found
    local line
    for line in "${(@f)$(jvmti completion --targets 2>/dev/null)}"; do
        [[ -n $line ]] && found+=("${line%%$'\t'*}:${${line#*$'\t'}//:/\\:}")
    done
    _describe -t jvms 'running JVM' found
}
_jvmti() {
    local key='' word i
    for ((i = 2; i < CURRENT; ++i)); do
        word=${words[i]}
        [[ $word == -- ]] && { _normal; return }
        case "${key:+$key }$word" in
            @KEYS@) key="${key:+$key }$word" ;;
        esac
    done
    local -a options below plain
    local target='' files=''
    case "$key" in
@CASES@
    esac
    case "$key:${words[CURRENT-1]}" in
@VALUES@
    esac
    if [[ ${words[CURRENT]} == -* ]]; then
        _describe -o 'option' options
        return
    fi
    (( ${#below} )) && _describe 'command' below
    (( ${#plain} )) && compadd -a plain
    [[ -n $target ]] && _jvmti_targets
    [[ -n $files ]] && _files
    return 0
}
compdef _jvmti jvmti
"""


def _zsh(root: Words) -> str:
    def described(name: str, text: str) -> str:
        return shlex.quote(f"{name}:{text}".replace("\\", ""))

    keys = [_key(path) for path, _ in root.all() if path]
    cases, values = [], []
    for path, words in root.all():
        options = " ".join(
            described(name, option.help) for option in words.options for name in option.names
        )
        parts = [f"options=({options})"]
        if words.below:
            below = " ".join(described(name, one.summary) for name, one in words.below.items())
            parts.append(f"below=({below})")
        if words.plain:
            parts.append(f"plain=({' '.join(map(shlex.quote, words.plain))})")
        if words.target:
            parts.append("target=1")
        if words.file:
            parts.append("files=1")
        cases.append(f"        {shlex.quote(_key(path))}) {'; '.join(parts)} ;;")
        for option in words.options:
            if option.takes:
                what = "_message 'value'"
                if option.file:
                    what = "_files"
                elif option.choices:
                    what = f"compadd {' '.join(map(shlex.quote, option.choices))}"
                where = "|".join(shlex.quote(f"{_key(path)}:{name}") for name in option.names)
                values.append(f"        {where}) {what}; return ;;")
    return (
        _ZSH.replace("@KEYS@", "|".join(map(shlex.quote, keys)))
        .replace("@CASES@", "\n".join(cases))
        .replace("@VALUES@", "\n".join(values))
    )


# ---- fish ---------------------------------------------------------------------------------------

_FISH = r"""# Completes the words of `jvmti` in fish; made by `jvmti completion fish`.
function __jvmti_at
    set -l key
    for word in (commandline -opc)[2..-1]
        test "$word" = -- ; and return 1
        switch (string join -- ' ' $key $word)
            case @KEYS@
                set key $key $word
        end
    end
    test "$key" = "$argv"
end
complete -c jvmti -f
"""


def _fish(root: Words) -> str:
    keys = [_key(path) for path, _ in root.all() if path]
    lines = [_FISH.replace("@KEYS@", " ".join(map(shlex.quote, keys))).rstrip("\n")]
    for path, words in root.all():
        at = f"-n {shlex.quote(f'__jvmti_at {_key(path)}'.strip())}"
        for name, one in words.below.items():
            lines.append(f"complete -c jvmti {at} -a {name} -d {_fish_text(one.summary)}")
        if words.plain:
            lines.append(f"complete -c jvmti {at} -a {_fish_text(' '.join(words.plain))}")
        if words.target:
            lines.append(f"complete -c jvmti {at} -a '(jvmti completion --targets 2>/dev/null)'")
        if words.file:
            lines.append(f"complete -c jvmti {at} -F")
        for option in words.options:
            names = " ".join(
                f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}"
                for name in option.names
            )
            parts = [f"complete -c jvmti {at} {names}"]
            if option.takes:
                parts.append("-r -F" if option.file else "-x")
                if option.choices:
                    parts.append(f"-a {_fish_text(' '.join(option.choices))}")
            parts.append(f"-d {_fish_text(option.help)}")
            lines.append(" ".join(parts))
    return "\n".join(lines) + "\n"


def _fish_text(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


__all__ = ["SHELLS", "Option", "Words", "script"]
