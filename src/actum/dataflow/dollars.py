"""`$calls.0` for `†calls.0`, where people write plans and tools (O12): read as a context is made, then †."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache, partial
from typing import Any

from ..schema.json import JsonObject, is_list, is_object, with_texts
from .computing.tokens import COUNTED_KINDS, ERROR_KIND, ITEM_KIND
from .reference import SIGIL

SIGN = "_sign"
"""The mark of a plan in which a `$` is a text: it has been read before, or no person has written it."""
_LEFT = re.compile(r"\$[^\W\d]")
_PLAIN = frozenset({"_tool", "_activity", "_delegate", "_module", "_instance", "_scopes", "_imports", "_why"})
"""The keys of a call whose values refer to nothing."""
_OUTPUT_PATHS = re.compile(r"(?<![\w$])\$(?=[^\W\d])")
_ELSE = "_else"


def with_signs(plan: JsonObject, kinds: Collection[str]) -> JsonObject:
    """A plan message that a person has written, with a † wherever a `$` stands for one.

    `kinds` are those that exist; what the plan's calls write exists as well.
    """
    if SIGN in plan or not has_dollars(plan["plan"], plan.get("output")):
        return plan
    calls = [with_output_paths(call) for call in plan["plan"]]
    written = {kind for call in calls for kind in _kinds_of(call.get("_outputPath"))}
    names = tuple(sorted({*COUNTED_KINDS, ITEM_KIND, *kinds, *written}))
    converted = {**plan, "plan": [_call(call, names) for call in calls]}
    if "output" in plan:
        converted["output"] = _read(plan["output"], names)
    return as_it_is(converted)


def as_it_is(plan: JsonObject) -> JsonObject:
    """A plan message that is never read as a person's: each `$` in it is a text."""
    return {**plan, SIGN: SIGIL} if has_dollars(plan["plan"], plan.get("output")) else plan


def with_output_paths(schema: JsonObject) -> JsonObject:
    """A call, or the members of a tool, whose output path isn't text that a `$` could be part of."""
    path = schema.get("_outputPath")
    if is_object(path):
        fixed = {key: _path(path[key]) for key in ("const", "enum") if key in path}
        return {**schema, "_outputPath": {**path, **fixed}}
    return schema if path is None else {**schema, "_outputPath": _path(path)}


def has_dollars(*values: Any) -> bool:
    """Whether a `$` stands before a letter anywhere in JSON values."""
    left = [*values]
    while left:
        value = left.pop()
        if isinstance(value, str) and _LEFT.search(value):
            return True
        if is_object(value):
            left += value.values()
        elif is_list(value):
            left += value
    return False


def _path(path: Any) -> Any:
    return with_texts(path, partial(_OUTPUT_PATHS.sub, SIGIL))


def _kinds_of(path: Any) -> list[str]:
    return re.findall(rf"{SIGIL}(\w+)", path) if isinstance(path, str) else []


def _call(call: JsonObject, names: tuple[str, ...]) -> JsonObject:
    within = (*names, ERROR_KIND)
    return {
        key: value if key in _PLAIN else _read(value, within if key == _ELSE else names) for key, value in call.items()
    }


def _read(value: Any, names: tuple[str, ...]) -> Any:
    return with_texts(value, lambda text: _text(text, names) if "$" in text else text)


def _text(text: str, names: tuple[str, ...]) -> str:
    """A text with its signs; what is quoted within braces stays, since no reference is read there."""
    outside, inside = _patterns(names)
    parts: list[str] = []
    at = depth = 0
    while match := (inside if depth else outside).search(text, at):
        parts += [text[at : match.start()], "$" if match["twice"] else SIGIL if match["once"] else match.group()]
        depth = max(depth + {"{": 1, "}": -1}.get(match.group(), 0), 0)
        at = match.end()
    return "".join([*parts, text[at:]])


@lru_cache(maxsize=64)
def _patterns(names: tuple[str, ...]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """The patterns to look for outside of braces, and within, where names end as Python's do."""
    kinds = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    signs = r"[{{}}]|(?<![\w$])(?:(?P<twice>\$\$)|(?P<once>\$))(?=(?:{kinds})(?![\w{more}]))"
    quoted = r"\\.|(?<![fF])(?:'(?:[^'\\]|\\.)*+'|\"(?:[^\"\\]|\\.)*+\")"
    within = signs.format(kinds=kinds, more="")
    return re.compile(signs.format(kinds=kinds, more="-")), re.compile(f"{quoted}|{within}", re.DOTALL)
