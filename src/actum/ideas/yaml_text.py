"""A text in YAML as what it would say in JSON: keys are texts, and so is a word that JSON has no value for.

PyYAML resolves plain words by YAML 1.1, where the country `NO` is false, the time `12:30` the number 750, and `010`
eight. Here they are what YAML 1.2 takes for null, true and false (its core schema), and numbers as JSON writes them;
what has a leading zero or plus, `0x1F` and `1_000` are texts, as every date is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import Any, cast

from ..schema.installing import pip_install
from ..schema.json import MAX_DEPTH, Json, plain


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
        where = f" at line {mark.line + 1}, column {mark.column + 1}" if mark is not None else ""
        raise NotYaml(f"{getattr(error, 'problem', None) or 'not YAML'}{where}") from None


def item_lines(text: str, member: str) -> list[int]:
    """In which lines the items of a list begin, of a text that was read: all of it, or this member of an object."""
    root: Any = _loader()(text).get_single_node()
    members = root.value if root.id == "mapping" else ()
    listed = next((value for key, value in members if key.value == member), root)
    return [item.start_mark.line + 1 for item in listed.value]


_OPENING = ("[", "{", "<block sequence start>", "<block mapping start>")
_CLOSING = ("]", "}", "<block end>")


def _check_tokens(tokens: Iterable[Any]) -> None:
    """Refuse what would make a small file huge, which JSON can't, and what nests so deep that reading is quadratic."""
    depth = 0
    for token in tokens:
        if token.id == "<alias>":
            raise Unaccepted("aliases (*name) are not accepted")
        depth += (token.id in _OPENING) - (token.id in _CLOSING)
        if depth > MAX_DEPTH:
            raise Unaccepted(f"nests deeper than {MAX_DEPTH}")


_TAG = "tag:yaml.org,2002:"
_WHOLE = r"(?:0|[1-9][0-9]*)"
_RESOLVED = (
    ("null", r"(?:~|null|Null|NULL|)", ["", *"~nN"]),
    ("bool", r"(?:true|True|TRUE|false|False|FALSE)", [*"tTfF"]),
    ("int", rf"-?{_WHOLE}", [*"-0123456789"]),
    ("float", rf"-?(?:\.[0-9]+|{_WHOLE}(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", [*"-.0123456789"]),
)
"""The plain words that are no texts, with what they may begin with; the first that fits counts."""


@cache
def _loader() -> Any:
    """PyYAML's loader with the words above, and nothing that is a date."""
    from yaml import SafeLoader

    safe: Any = SafeLoader  # stubs leave its methods open
    loader: Any = type("Loader", (safe,), {"yaml_implicit_resolvers": {}})
    for kind, pattern, first in _RESOLVED:
        loader.add_implicit_resolver(f"{_TAG}{kind}", re.compile(rf"{pattern}\Z"), first)
    loader.add_constructor(f"{_TAG}timestamp", safe.construct_yaml_str)
    return loader


def _constructed(loader: Any, node: Any) -> object:
    """The values of a document; PyYAML's constructors take for granted that a value fits the tag that it is given."""
    try:
        return loader.construct_document(node)
    except (LookupError, AttributeError, TypeError):
        raise Unaccepted("a value doesn't fit the tag (!!…) that it has") from None


def _take_keys(root: Any) -> None:
    """Take keys as texts whatever they look like; refuse one that occurs twice: YAML would silently take the last."""
    waiting: list[Any] = [root]
    while waiting:
        node = waiting.pop()
        kind = getattr(node, "id", None)
        if kind == "sequence":
            waiting += reversed(node.value)
        if kind != "mapping":
            continue
        seen: set[str] = set()
        for key, _ in node.value:
            if key.id != "scalar":
                continue  # which no object can have: constructing it fails
            if key.value in seen:
                where = f"at line {key.start_mark.line + 1}, column {key.start_mark.column + 1}"
                raise NotYaml(f"the key {key.value!r} occurs twice in one object {where}")
            seen.add(key.value)
            key.tag = f"{_TAG}str"
        waiting += [member for _, member in reversed(node.value)]
