"""The page about the command line: every command with its arguments and options, as `--help` has them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from markup import code, table

from actum.cli.dispatch import GROUPS, MODULES, app, command_words

_CODES = [
    ("0", "there is an output"), ("1", "the run failed"), ("2", "the command or the Idea is wrong"),
    ("3", "there is no output because calls wait for a decision"), ("130", "it was interrupted"),
]  # fmt: skip


def page() -> str:
    """All commands, in the groups in which `actum --help` lists them."""
    parts = [
        "# The command line\n",
        "The extra `cli` brings the command `actum`. The output goes to stdout, everything else to stderr; "
        "[On the command line](../semantics.md#on-the-command-line) says what is printed and when. `--debug` shows the "
        "traceback of an error. [Security](../../SECURITY.md#what-a-command-may-do) says what each command may do.\n",
        table(["exit code", "means"], _CODES),
    ]
    for title, names in GROUPS.items():
        parts.append(f"## {title}\n")
        for name in names:
            parts += _command(name)
    return "\n".join(parts)


def _command(name: str) -> Iterator[str]:
    arguments = list(app[name].assemble_argument_collection(parse_docstring=True))
    positional = [argument for argument in arguments if argument.field_info.is_positional]
    options = ["[options]"] if len(arguments) > len(positional) else []
    usage = " ".join(["actum", name, *map(_usage, positional), *options])
    yield f"### actum {name}\n\n```text\n{usage}\n```\n\n{command_words(MODULES.get(name, name))}\n"
    rows = [(_names(argument), _help(argument)) for argument in arguments]
    if rows:
        yield table(["argument", "what it is"], rows)


def _usage(argument: Any) -> str:
    name = argument.name.upper()
    shown = f"{name}…" if "VAR" in argument.field_info.kind.name else name
    return shown if argument.required else f"[{shown}]"


def _names(argument: Any) -> str:
    names = [name.upper() if argument.field_info.is_positional else name for name in argument.names]
    choices = argument.get_choices()
    takes = "" if argument.field_info.is_positional or _is_flag(argument) else " " + _value(argument, choices)
    return ", ".join(code(name + takes) for name in names)


def _value(argument: Any, choices: tuple[str, ...] | None) -> str:
    if choices:
        return "|".join(choices)
    words = {"int": "NUMBER", "float": "NUMBER"}
    kind = str(argument.hint)
    return next((word for part, word in words.items() if part in kind), "TEXT")


def _is_flag(argument: Any) -> bool:
    return argument.hint is bool


def _help(argument: Any) -> str:
    words = argument.parameter.help or ""
    default = argument.field_info.default
    is_told = default not in (None, False, "") and default is not argument.field_info.empty
    several = "list[" in str(argument.hint)
    more = [f"By default `{default}`."] if is_told else []
    more += ["May be repeated."] if several and "repeated" not in words else []
    return " ".join([words, *more])
