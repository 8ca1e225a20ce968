"""The check of expressions before they run, over the plans of 92 tasks: the right ones pass, wrong ones don't (E5)."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from .plan_check import PlanCheck, plans, sources

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
    return next((source.replace(one, other, 1) for one, other in _METHODS.items() if one in source), source)


def foreign_function(source: str) -> str:
    return next((source.replace(one, other, 1) for one, other in _FUNCTIONS.items() if one in source), source)


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


def with_source(plan: dict[str, Any], old: str, new: str) -> dict[str, Any] | None:
    """The plan with another source in place of one; None if it is written in another way there."""
    text = json.dumps(plan, ensure_ascii=False)
    before, after = (json.dumps(source, ensure_ascii=False)[1:-1] for source in (old, new))
    return json.loads(text.replace(before, after)) if before in text else None


def is_refused(plan: dict[str, Any]) -> bool:
    try:
        PlanCheck(plan).run()
    except ValueError:
        return True
    return False


@pytest.mark.parametrize("plan", plans(), ids=lambda plan: f"{plan['world']}-{plan['task']}")
def test_a_plan_that_works_is_not_refused(plan: dict[str, Any]) -> None:
    PlanCheck(plan).run()


def test_nearly_all_mistakes_are_found_before_anything_runs() -> None:
    made, missed = Counter[str](), Counter[str]()
    for plan in plans():
        for source in dict.fromkeys(sources(plan)):
            for mistake in MISTAKES:
                wrong = with_source(plan, source, changed) if (changed := mistake(source)) != source else None
                if wrong is not None:
                    made[mistake.__name__] += 1
                    missed[mistake.__name__] += not is_refused(wrong)
    assert min(made.values()) >= 4
    assert sum(made.values()) >= 600
    # No check of types can tell a call from another one of the same type, or a reader of one file from one of many.
    assert missed.pop("other_call") < made["other_call"] * 0.3
    assert missed.total() <= 1, missed
