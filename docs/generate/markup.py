"""Small pieces of Markdown: tables, docstrings, signatures, types of JSON."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib import import_module
from itertools import pairwise
from textwrap import dedent
from typing import Any

_SECTIONS = ("Args", "Raises", "Returns", "Yields")
_ENTRY = re.compile(r"^(\*{0,2}[\w.]+(?:, [\w.]+)*): (.*)$")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; line feeds and bars in its cells are made harmless."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(map(_cell, line))} |\n" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def code(text: object) -> str:
    """Text in the type of code; a value as JSON has it."""
    return f"`{text}`"


def prose(docstring: str | None) -> str:
    """A docstring as Markdown: what it raises, returns and takes are lists."""
    text = inspect.cleandoc(docstring or "")
    blocks = re.split(rf"^({'|'.join(_SECTIONS)}):\n", text, flags=re.MULTILINE)
    parts = [blocks[0].rstrip()]
    for name, body in zip(blocks[1::2], blocks[2::2], strict=True):
        parts.append(f"**{name}**\n\n{_entries(body)}")
    return "\n\n".join(part for part in parts if part)


def _entries(body: str) -> str:
    """The entries of a section, each an item: a name with what is said of it, or a sentence."""
    own, _, rest = body.partition("\n\n")
    items: list[str] = []
    for line in dedent(own).splitlines():
        if line.startswith(" ") and items:
            items[-1] += f" {line.strip()}"
        elif (entry := _ENTRY.match(line)) is not None:
            items.append(f"- {', '.join(f'`{one}`' for one in entry[1].split(', '))}: {entry[2]}")
        elif items and not items[-1].startswith("- `"):
            items[-1] += f" {line}"
        else:
            items.append(f"- {line}")
    return "\n".join(items) + (f"\n\n{dedent(rest).strip()}" if rest.strip() else "")


def signature(name: str, function: Any, *, drops_self: bool = False) -> str:
    """`name(…) -> …` as the source has it, on several lines where one is too long."""
    own = inspect.signature(function)
    parts = _parameters(list(own.parameters.values())[1 if drops_self else 0 :])
    prefix = "async " if inspect.iscoroutinefunction(function) else ""
    returned = "" if own.return_annotation is own.empty else f" -> {_annotated(own.return_annotation)}"
    line = f"{prefix}{name}({', '.join(parts)}){returned}"
    if len(line) <= 100:
        return line
    return "\n".join([f"{prefix}{name}(", *(f"    {part}," for part in parts), f"){returned}"])


def _parameters(parameters: Sequence[inspect.Parameter]) -> list[str]:
    """The parameters as they are written, those fields left out that nobody gives."""
    written: list[str] = []
    before = inspect.Parameter.POSITIONAL_OR_KEYWORD
    for one in parameters:
        if one.name[:1] == "_" and one.default is not one.empty:
            continue
        if before is one.POSITIONAL_ONLY and one.kind is not one.POSITIONAL_ONLY:
            written.append("/")
        if one.kind is one.KEYWORD_ONLY and before not in (one.KEYWORD_ONLY, one.VAR_POSITIONAL):
            written.append("*")
        written.append(_parameter(one))
        before = one.kind
    return written


def _parameter(one: inspect.Parameter) -> str:
    stars = {one.VAR_POSITIONAL: "*", one.VAR_KEYWORD: "**"}.get(one.kind, "")
    told = "" if one.annotation is one.empty else f": {_annotated(one.annotation)}"
    default = "" if one.default is one.empty else f" = {shown(one.default)}"
    return f"{stars}{one.name}{told}{default}"


def _annotated(annotation: Any) -> str:
    return annotation.strip("\"'") if isinstance(annotation, str) else inspect.formatannotation(annotation)


def shown(value: object) -> str:
    """A default as the source may have it: what has a name by its name, since an address of memory says nothing."""
    text = repr(value)
    if isinstance(value, type) or callable(value):
        return str(getattr(value, "__name__", type(value).__name__))
    if "set({" in text or "<" in text or len(text) > 100:  # of no order, or of no use
        return "…"
    return text


@cache
def told(value: type) -> Mapping[str, str]:
    """The docstring below each field of a class and of those that it inherits from, where their source says one."""
    found: dict[str, str] = {}
    for one in reversed(value.__mro__):
        body = _bodies(one.__module__).get(one.__name__, []) if one.__module__.startswith("actum") else []
        for field, below in pairwise(body):
            match field, below:
                case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str() as words)):
                    found[name] = inspect.cleandoc(words)
                case _:
                    pass
    return found


def json_type(schema: Mapping[str, Any]) -> str:
    """What a JSON Schema takes, in few words."""
    if "enum" in schema:
        return ", ".join(f"`{one}`" for one in schema["enum"])
    if "anyOf" in schema:
        return " or ".join(json_type(one) for one in schema["anyOf"])
    given = schema.get("type")
    types = given if isinstance(given, list) else [given] if given else []
    words = [_WORDS.get(one, one) for one in types]
    if "array" in types and isinstance(schema.get("items"), Mapping) and schema["items"].get("type") == "string":
        words[types.index("array")] = "list of texts"
    return " or ".join(words) or "anything"


@cache
def _bodies(module: str) -> Mapping[str, list[ast.stmt]]:
    """What the classes of a module hold, by name."""
    tree = ast.parse(inspect.getsource(import_module(module)))
    return {node.name: node.body for node in tree.body if isinstance(node, ast.ClassDef)}


_WORDS = {
    "string": "text", "object": "object", "array": "list", "boolean": "true or false", "integer": "whole number",
    "number": "number", "null": "null",
}  # fmt: skip
