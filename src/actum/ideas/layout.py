"""The one way that an Idea is laid out as text: stable, so that what changes little differs little (X1)."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeAlias, cast

from ..schema.installing import pip_install
from ..schema.json import MAX_DEPTH, Json, JsonObject, encode, plain

_WIDTH = 100
_FIRST = ("type", "_tool")
"""What a message and a call begin with."""
_PARTS = ("$schema", "meta", "config", "context", "schema", "solution")


def laid_out(value: JsonObject) -> str:
    """An Idea as text: what fits on a line is on one, the rest is broken, in its own order.

    Only the parts of the Idea, and `type` and `_tool`, have a fixed position. Nothing is lost: a number is written
    as Python writes it, a text as it is.
    """
    parts = {key: value[key] for key in _PARTS if key in value}
    return f"{_text(parts | value, '', 0)}\n"


def folded(value: Json) -> str:
    """A value as text in the same layout: on one line if it fits."""
    return _on_one_line(value, _WIDTH) or _text(value, "", 0)


def _text(value: Json, indent: str, used: int) -> str:
    """A value at an indent, where `used` characters of its first line are taken."""
    if not isinstance(value, dict | list) or not value:
        return encode(value)
    if indent and (line := _on_one_line(value, _WIDTH - used)) is not None:
        return line
    deeper = indent + "  "
    if isinstance(value, dict):
        members = _ordered(value).items()
        parts = [f"{encode(key)}: {_text(member, deeper, len(deeper) + len(key) + 5)}" for key, member in members]
        return "{\n" + ",\n".join(deeper + part for part in parts) + f"\n{indent}}}"
    items = [_text(item, deeper, len(deeper) + 1) for item in value]
    return "[\n" + ",\n".join(deeper + item for item in items) + f"\n{indent}]"


def _on_one_line(value: Json, room: int) -> str | None:
    """A value on one line; None if it is longer than the room, without writing much more of it than that."""
    if room <= 0:
        return None
    if isinstance(value, dict):
        parts = [(f"{encode(key)}: ", member) for key, member in _ordered(value).items()]
    elif isinstance(value, list):
        parts = [("", item) for item in value]
    else:
        text = encode(value)
        return text if len(text) <= room else None
    written: list[str] = []
    left = room - 2
    for key, member in parts:
        inner = _on_one_line(member, left - len(key))
        if inner is None:
            return None
        written.append(key + inner)
        left -= len(key) + len(inner) + 2
    line = ", ".join(written)
    whole = f"{{{line}}}" if isinstance(value, dict) else f"[{line}]"
    return whole if len(whole) <= room else None


def _ordered(value: JsonObject) -> JsonObject:
    return {key: value[key] for key in _FIRST if key in value} | value


Path: TypeAlias = tuple["str | int", ...]

_TOKEN = re.compile(r'\s*("(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+)')


@dataclass(slots=True)
class Positions:
    """The positions of the values in a text that is known to be JSON."""

    text: str
    starts: dict[Path, int] = field(default_factory=dict[Path, int])
    _lines: list[int] = field(default_factory=list[int])

    def __post_init__(self) -> None:
        self._lines = [0, *(match.end() for match in re.finditer("\n", self.text))]
        path: list[str | int | None] = []  # the index in each list around; the key in each object, None before one
        for match in _TOKEN.finditer(self.text):
            token = match[1]
            if token in "}]":
                path.pop()
            elif token == ",":
                path[-1] = path[-1] + 1 if isinstance(path[-1], int) else None
            elif path and path[-1] is None:
                path[-1] = str(json.loads(token)) if token[0] == '"' else None
            elif token != ":":
                self.starts[tuple(step for step in path if step is not None)] = match.start(1)
                path += [None] if token == "{" else [0] if token == "[" else []

    def of(self, path: Sequence[str | int]) -> tuple[int, int]:
        """Line and column, from 1, of the value at a path, or of the nearest one that holds it."""
        nearest = tuple(path)
        while nearest and nearest not in self.starts:
            nearest = nearest[:-1]
        offset = self.starts.get(nearest, 0)
        line = bisect_right(self._lines, offset)
        return line, offset - self._lines[line - 1] + 1


class NotYaml(ValueError):
    """A text that isn't YAML, or says what JSON can't."""


class Unaccepted(NotYaml):
    """YAML that isn't read; the message quotes nothing of it."""


def parse_yaml(text: str) -> Json:
    """The value of a text in YAML.

    Raises:
        NotYaml: it is none, with line and column if they are known.
        ValueError: JSON has no such value.
        RecursionError: it nests too deeply.
    """
    try:
        import yaml
    except ImportError:
        raise Unaccepted(f"reading YAML needs PyYAML: {pip_install('yaml')}") from None
    try:
        _check_tokens(cast("Iterable[Any]", yaml.scan(text)))  # pyright: ignore[reportUnknownMemberType] -- stubs leave it open
        loader: Any = _loader()(text)
        node: Any = loader.get_single_node()
        _take_keys(node)
        return None if node is None else plain(_constructed(loader, node))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = "" if mark is None else _at(mark)
        raise NotYaml(f"{getattr(error, 'problem', None) or 'not YAML'}{where}") from None


def _at(mark: Any) -> str:
    return f" at line {mark.line + 1}, column {mark.column + 1}"


def item_lines(text: str, member: str) -> list[int]:
    """In which lines the items of a list begin, of a text that was read: all of it, or this member of an object."""
    root: Any = _loader()(text).get_single_node()
    members = root.value if root.id == "mapping" else ()
    listed = next((value for key, value in members if key.value == member), root)
    return [item.start_mark.line + 1 for item in listed.value]


_OPENING = ("[", "{", "<block sequence start>", "<block mapping start>")
_CLOSING = ("]", "}", "<block end>")


def _check_tokens(tokens: Iterable[Any]) -> None:
    """Refuse aliases, which could make a small file huge, and nesting so deep that reading takes quadratic time."""
    depth = 0
    for token in tokens:
        if token.id == "<alias>":
            raise Unaccepted(f"aliases (*name) are not accepted{_at(token.start_mark)}")
        depth += (token.id in _OPENING) - (token.id in _CLOSING)
        if depth > MAX_DEPTH:
            raise Unaccepted(f"nests deeper than {MAX_DEPTH}{_at(token.start_mark)}")


_TAG = "tag:yaml.org,2002:"
_WHOLE = r"(?:0|[1-9][0-9]*)"
_RESOLVED = (
    ("null", r"(?:~|null|Null|NULL|)", ["", *"~nN"]),
    ("bool", r"(?:true|True|TRUE|false|False|FALSE)", [*"tTfF"]),
    ("int", rf"-?{_WHOLE}", [*"-0123456789"]),
    ("float", rf"-?(?:\.[0-9]+|{_WHOLE}(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", [*"-.0123456789"]),
)
"""The plain words that aren't texts, with their possible first characters; the first match counts."""


@cache
def _loader() -> Any:
    """PyYAML's loader with the words above, and nothing that is a date."""
    from yaml import SafeLoader

    safe: Any = SafeLoader  # stubs leave its methods open
    tags = [None, *(f"{_TAG}{kind}" for kind in ("null", "bool", "int", "float", "str", "seq", "map"))]
    constructors = {tag: safe.yaml_constructors[tag] for tag in tags}
    loader: Any = type("Loader", (safe,), {"yaml_implicit_resolvers": {}, "yaml_constructors": constructors})
    for kind, pattern, first in _RESOLVED:
        loader.add_implicit_resolver(f"{_TAG}{kind}", re.compile(rf"{pattern}\Z"), first)
    loader.add_constructor(f"{_TAG}timestamp", safe.construct_yaml_str)
    return loader


def _constructed(loader: Any, node: Any) -> object:
    """The values of a document; PyYAML's constructors assume that a value fits its tag."""
    try:
        return loader.construct_document(node)
    except (LookupError, AttributeError, TypeError):
        raise Unaccepted("a value doesn't fit the tag (!!…) that it has") from None


def _take_keys(root: Any) -> None:
    """Make all keys texts, whatever they look like; refuse one that occurs twice, of which YAML takes the last."""
    waiting: list[Any] = [root]
    while waiting:
        node = waiting.pop()
        kind = getattr(node, "id", None)
        if kind == "sequence":
            waiting += reversed(node.value)
        if kind != "mapping":
            continue
        keys: set[str] = set()
        for key, _ in node.value:
            if key.id != "scalar":
                continue  # no JSON key: constructing the document fails
            if key.value in keys:
                raise NotYaml(f"the key {key.value!r} occurs twice in one object{_at(key.start_mark)}")
            keys.add(key.value)
            key.tag = f"{_TAG}str"
        waiting += [member for _, member in reversed(node.value)]
