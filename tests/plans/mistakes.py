"""Mistakes that an author of expressions makes, each made in the source of one."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from ..dataflow.computing.plan_check import sources

_PAIRS = (
    "sender:from title:name body:text id_:id start_time:start end_time:end amount:value filename:name"
    " email:address size:length date:timestamp subject:description recipient:to participants:attendees"
    " shared_with:sharedWith location:place rating:score name:title description:details max:price min:low"
    " timestamp:date content:text"
)
_SWAPPED: dict[str, str] = {pair.partition(":")[0]: pair.partition(":")[2] for pair in _PAIRS.split()}
_FIELD = re.compile(rf"(?<=\.)({'|'.join(_SWAPPED)})\b(?!\()")
_METHODS = {".lower()": ".toLowerCase()", ".startswith(": ".startsWith(", ".replace(": ".sub(", ".join(": ".concat("}
_FUNCTIONS = {"unique(": "distinct(", "len(": "length(", "one(": "only(", "max(": "maximum(", "any(": "some("}


def typo(source: str) -> str:
    return _FIELD.sub(lambda match: match[0][:-2] + match[0][-1] + match[0][-2] + "e", source, count=1)


def other_field(source: str) -> str:
    return _FIELD.sub(lambda match: _SWAPPED[match[0]], source, count=1)


def forgotten_one(source: str) -> str:
    match = re.search(r"one\((\w+) for \1 in (†[\w.]+)[^()]*(?:\(\)[^()]*)*\)", source)
    return source.replace(match[0], match[2], 1) if match else source


def forgotten_loop(source: str) -> str:
    match = re.search(r"\(?(\w+)\.(\w+) for \1 in (†[\w.]+)[^()\]]*", source)
    return source.replace(match[0], f"{'(' * (match[0][0] == '(')}{match[3]}.{match[2]}", 1) if match else source


def other_call(source: str) -> str:
    def moved(match: re.Match[str]) -> str:
        return f"†calls.{int(match[1]) + (1 if match[1] == '0' else -1)}"

    return re.sub(r"†calls\.(\d+)", moved, source, count=1)


def arithmetic_with_text(source: str) -> str:
    return source.replace(".amount", ".subject", 1) if re.search(r"[*+/-] ", source) else source


def constant_of_another_type(source: str) -> str:
    changed = re.sub(r"(==|<|>|<=|\*) (\d+(\.\d+)?)", r"\1 '\2'", source, count=1)
    return changed if changed != source else re.sub(r"== '[^']*'", "== 7", source, count=1)


def misspelt_value(source: str) -> str:
    return source.replace("'canceled'", "'cancelled'", 1)


def foreign_method(source: str) -> str:
    return next(
        (source.replace(written, foreign, 1) for written, foreign in _METHODS.items() if written in source), source
    )


def foreign_function(source: str) -> str:
    return next(
        (source.replace(written, foreign, 1) for written, foreign in _FUNCTIONS.items() if written in source), source
    )


def unknown_variable(source: str) -> str:
    match = re.search(r"for (\w+) in", source)
    return re.sub(rf"\b{match[1]}\.", f"{match[1] * 2}.", source, count=1) if match else source


def method_of_another_kind(source: str) -> str:
    return re.sub(r"\.(amount|rating|size|participants)\b(?!\()", r".\1.lower()", source, count=1)


def index_into_a_map(source: str) -> str:
    return source.replace(".values()", "[0]", 1)


MISTAKES: list[Callable[[str], str]] = [
    typo,
    other_field,
    forgotten_one,
    forgotten_loop,
    other_call,
    arithmetic_with_text,
    constant_of_another_type,
    misspelt_value,
    foreign_method,
    foreign_function,
    unknown_variable,
    method_of_another_kind,
    index_into_a_map,
]


def with_mistakes(plan: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The plan with one mistake in one of its expressions, for every mistake that can be made there, by its name."""
    for source in dict.fromkeys(sources(plan)):
        for mistake in MISTAKES:
            changed = mistake(source)
            wrong = _with_source(plan, source, changed) if changed != source else None
            if wrong is not None:
                yield mistake.__name__, wrong


def _with_source(plan: dict[str, Any], old: str, new: str) -> dict[str, Any] | None:
    """The plan with another source in place of one; None if it is written in another way there."""
    text = json.dumps(plan, ensure_ascii=False)
    before, after = (json.dumps(source, ensure_ascii=False)[1:-1] for source in (old, new))
    return json.loads(text.replace(before, after)) if before in text else None
