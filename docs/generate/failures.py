"""The page about errors: the tree of classes, and every `code` that one may have."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from markup import code, prose, table

import actum
from actum import errors
from actum.generation.model import PASSING as RETRIED
from actum.models import failures as of_models

_SOURCE = Path(actum.__file__).parent
_OF_SEVERAL = ("ModelError", "ServerError", "RunEnded")
"""Classes whose `code` tells kinds apart."""


def page() -> str:
    """The tree, then the errors by class, then by code."""
    classes = [
        error for error in vars(errors).values() if isinstance(error, type) and issubclass(error, errors.ActumError)
    ]
    codes = sorted({code for names in _codes().values() for code in names} - {error.code for error in classes})
    messages = _messages()
    parts = [
        "# Errors\n",
        "All derive from `actum.errors.ActumError`. Each is one line that says what was wrong and where; "
        "`error.to_dict()` is the same as JSON, with a `code` that does not change. One that ends a run has what had "
        "been done as its `result`, which [can be resumed](../how-to/resume.md).\n",
        "\n".join(["```text", "ActumError", *_tree(errors.ActumError), "```"]),
        "\n## By class\n",
    ]
    parts += [f"### {error.__name__}\n\n{code(error.code)}\n\n{prose(error.__doc__)}\n" for error in classes]
    parts += [
        "## Codes of models, servers and runs\n",
        "The `code` of a `ModelError`, a `ServerError` and a `RunEnded` tells kinds apart. *Sent again*: the adapter "
        "sends the same request again by itself, `models.load(…, retries=2)` times, before the answer has begun.\n",
        table(["code", "raised as", "what happened", "sent again"], [
            (code(name), ", ".join(sorted(f"`{owner}`" for owner, names in _codes().items() if name in names)),
             messages.get(name, ""), "yes" if name in RETRIED else "")
            for name in codes
        ]),
        "## What is tried again\n",
        "A failed request is sent again as the table says. An answer that can't be used is asked for again "
        "(`Config.retries`, then `SolutionError`). An Activity that has raised is made again where its tool says so "
        "(`retries=`, see [Retry](../how-to/retry.md)). Everything else is told to the model, which may write another "
        "call.\n",
    ]  # fmt: skip
    return "\n".join(parts)


def _tree(parent: type[Exception], indent: str = "") -> Iterator[str]:
    """The classes below one, each with what its docstring says first."""
    children = [
        child
        for child in parent.__subclasses__()
        if child.__module__ == errors.__name__ and child.__bases__[0] is parent
    ]
    for child in children:
        is_last = child is children[-1]
        summary = re.split(r"[.;:](?:\s|$)", child.__doc__ or "", maxsplit=1)[0]
        yield f"{indent}{'└' if is_last else '├'}── {child.__name__:<{28 - len(indent)}}{' '.join(summary.split())}"
        yield from _tree(child, indent + ("    " if is_last else "│   "))


@cache
def _codes() -> Mapping[str, set[str]]:
    """By class, the codes with which the source makes its errors."""
    codes: dict[str, set[str]] = {name: {getattr(errors, name).code} for name in _OF_SEVERAL}
    for path in sorted(_SOURCE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        for owner, name in _made(ast.parse(text)) if "code=" in text else ():
            codes[owner].add(name)
    codes["ModelError"] |= set(_told_of_models())
    codes["ServerError"] |= set(re.findall(r"`(server_\w+)`", errors.ServerError.__doc__ or ""))
    return codes


def _made(tree: ast.AST) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in _OF_SEVERAL:
            for keyword in node.keywords:
                if keyword.arg == "code" and isinstance(keyword.value, ast.Constant):
                    yield ast.unparse(node.func).rpartition(".")[2], str(keyword.value.value)


def _told_of_models() -> Mapping[str, str]:
    """The table in the docstring of the module that makes the errors of providers."""
    rows = re.findall(r"^\| `(\w+)` \| (.+?) \|", of_models.__doc__ or "", re.MULTILINE)
    return dict(rows)


def _messages() -> Mapping[str, str]:
    further = {
        "model_missing": "there is neither a model nor a plan",
        "model_unknown": "no provider has this name",
        "model_not_installed": "the packages of the provider are missing",
        "model_recording": "a recording is missing, damaged, or does not hold the request",
        "model_script_exhausted": "`Scripted` has no answer left",
        "model_forbidden": "a test lets nothing be asked (`actum.testing`)",
        "server_config": "a file of servers can't be used",
        "server_start": "a server did not start",
        "server_lost": "a server ended during a call",
        "server_changed": "a server's tool is not the one that was registered",
    }
    return {**_told_of_models(), **further}
