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
    description, _, rest = body.partition("\n\n")
    items: list[str] = []
    for line in dedent(description).splitlines():
        if line.startswith(" ") and items:
            items[-1] += f" {line.strip()}"
        elif (entry := _ENTRY.match(line)) is not None:
            items.append(f"- {', '.join(f'`{name}`' for name in entry[1].split(', '))}: {entry[2]}")
        elif items and not items[-1].startswith("- `"):
            items[-1] += f" {line}"
        else:
            items.append(f"- {line}")
    return "\n".join(items) + (f"\n\n{dedent(rest).strip()}" if rest.strip() else "")


def signature(name: str, function: Any, *, drops_self: bool = False) -> str:
    """`name(…) -> …` as the source has it, on several lines where one is too long."""
    signature = inspect.signature(function)
    parts = _parameters(list(signature.parameters.values())[1 if drops_self else 0 :])
    prefix = "async " if inspect.iscoroutinefunction(function) else ""
    returned = (
        "" if signature.return_annotation is signature.empty else f" -> {_annotated(signature.return_annotation)}"
    )
    line = f"{prefix}{name}({', '.join(parts)}){returned}"
    if len(line) <= 100:
        return line
    return "\n".join([f"{prefix}{name}(", *(f"    {part}," for part in parts), f"){returned}"])


def _parameters(parameters: Sequence[inspect.Parameter]) -> list[str]:
    """The parameters as they are written, those fields left out that nobody gives."""
    written: list[str] = []
    before = inspect.Parameter.POSITIONAL_OR_KEYWORD
    for parameter in parameters:
        if parameter.name[:1] == "_" and parameter.default is not parameter.empty:
            continue
        if before is parameter.POSITIONAL_ONLY and parameter.kind is not parameter.POSITIONAL_ONLY:
            written.append("/")
        if parameter.kind is parameter.KEYWORD_ONLY and before not in (
            parameter.KEYWORD_ONLY,
            parameter.VAR_POSITIONAL,
        ):
            written.append("*")
        written.append(_parameter(parameter))
        before = parameter.kind
    return written


def _parameter(parameter: inspect.Parameter) -> str:
    stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
    annotation = "" if parameter.annotation is parameter.empty else f": {_annotated(parameter.annotation)}"
    default = "" if parameter.default is parameter.empty else f" = {shown(parameter.default)}"
    return f"{stars}{parameter.name}{annotation}{default}"


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
def attribute_docs(value: type) -> Mapping[str, str]:
    """The docstring below each field of a class and of those that it inherits from, where their source says one."""
    docs: dict[str, str] = {}
    for base in reversed(value.__mro__):
        body = _bodies(base.__module__).get(base.__name__, []) if base.__module__.startswith("actum") else []
        for field, below in pairwise(body):
            match field, below:
                case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str() as words)):
                    docs[name] = inspect.cleandoc(words)
                case _:
                    pass
    return docs


def json_type(schema: Mapping[str, Any]) -> str:
    """What a JSON Schema takes, in few words."""
    if "enum" in schema:
        return ", ".join(f"`{member}`" for member in schema["enum"])
    if "anyOf" in schema:
        return " or ".join(json_type(option) for option in schema["anyOf"])
    given = schema.get("type")
    types = given if isinstance(given, list) else [given] if given else []
    words = [_WORDS.get(word, word) for word in types]
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
