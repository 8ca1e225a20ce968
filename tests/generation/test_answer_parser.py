"""The stream of an answer: equal to reading it whole, however it is cut, dressed up or broken."""

from __future__ import annotations

import json
import sys
import tracemalloc
from contextlib import suppress
from itertools import pairwise
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum.generation import answer_parser
from actum.generation.answer_parser import AnswerParser, AnswerSyntax, Element, Member

VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text('ab"\\{}[],:† \n', max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text('ab"}', max_size=3), inner, max_size=3),
    max_leaves=8,
)
PROSE = st.text("ab .:,]\n`", max_size=12)


def read(text: str, cuts: list[int]) -> list[Element | Member]:
    parser = AnswerParser()
    marks = sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})
    parts: list[Element | Member] = []
    for start, end in pairwise(marks):
        parts += parser.feed(text[start:end])
    parser.finish()
    return parts


@pytest.mark.rule("L1", "L3")
@given(
    calls=st.lists(VALUES, max_size=4),
    output=VALUES,
    meta=VALUES,
    order=st.permutations(["calls", "output", "meta", "thoughts"]),
    ascii=st.booleans(),
    indent=st.sampled_from([None, 1]),
    before=PROSE,
    after=PROSE,
    cuts=st.lists(st.integers(0, 10_000), max_size=12),
)
def test_what_is_read_is_what_reading_it_whole_gives(
    calls: list[Any],
    output: Any,
    meta: Any,
    order: list[str],
    ascii: bool,
    indent: int | None,
    before: str,
    after: str,
    cuts: list[int],
) -> None:
    answer = {"calls": calls, "output": output, "meta": meta, "thoughts": {"calls": [1]}}
    whole = json.dumps({key: answer[key] for key in order}, ensure_ascii=ascii, indent=indent)
    parts = read(f"{before}{whole}{after}", cuts)
    assert [json.loads(part.text) for part in parts if isinstance(part, Element)] == calls
    assert {part.name: json.loads(part.text) for part in parts if isinstance(part, Member)} == {
        "output": output,
        "meta": meta,
    }


@pytest.mark.rule("C6")
@given(calls=st.lists(st.dictionaries(st.text("ab", min_size=1), VALUES), min_size=1, max_size=4))
def test_a_call_is_there_at_the_very_character_that_closes_it(calls: list[dict[str, Any]]) -> None:
    texts = [json.dumps(call) for call in calls]
    text = '{"calls":[' + ",".join(texts) + "]"
    ends = [text.index("[") + sum(len(call_text) + 1 for call_text in texts[: n + 1]) for n in range(len(texts))]
    parser = AnswerParser()
    closed_at = [index for index, char in enumerate(text) for part in parser.feed(char) if isinstance(part, Element)]
    assert closed_at == [end - 1 for end in ends]


@pytest.mark.rule("L1")
@given(output=st.text("ab {}[],", min_size=1), has_calls=st.booleans())
def test_an_output_is_seen_as_it_grows(output: str, has_calls: bool) -> None:
    before = '{"calls":[' + ('{"_tool":"a"}' if has_calls else "") + '],"output":'
    parser = AnswerParser()
    list(parser.feed(before))
    for end, char in enumerate(written := json.dumps(output), 1):
        list(parser.feed(char))
        assert parser.partial_output.text == written[:end]


def test_a_call_that_is_too_long_is_not_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer_parser, "MOST_CHARACTERS", 100_000)
    parser = AnswerParser()
    list(parser.feed('{"calls":[{"text":"'))
    tracemalloc.start()
    try:
        for number in range(5_000):
            list(parser.feed(f"{number:1000}"))
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    (element,) = parser.feed('"}]')
    assert isinstance(element, Element)
    assert "100000" in str(element.refused)
    assert held < 500_000


def test_reading_by_tokens_costs_a_long_answer_no_more_for_each_call() -> None:
    token = '{"_tool":"step","of":"some words of a text"},'
    parser = AnswerParser()
    list(parser.feed('{"calls":['))

    def reads(calls: int) -> int:
        counts = 0

        def count(frame: FrameType, event: str, _: object) -> None:
            nonlocal counts
            counts += event == "call" and frame.f_code.co_filename == answer_parser.__file__

        sys.setprofile(count)
        for start in range(0, len(token) * calls, 4):
            list(parser.feed((token * calls)[start : start + 4]))
        sys.setprofile(None)
        return counts

    first = reads(20)
    list(parser.feed(token * 5_000))
    reads(3_000)
    assert reads(20) <= first * 1.1


@given(text=st.text('{}[]",:\\ calsoutpem01n†\ud83d', max_size=60), cuts=st.lists(st.integers(0, 99), max_size=5))
def test_whatever_arrives_is_an_answer_or_a_typed_error(text: str, cuts: list[int]) -> None:
    for whole in (text, f'{{"calls":[{text}'):
        with suppress(AnswerSyntax):
            read(whole, cuts)


@pytest.mark.parametrize(
    "text",
    ['{"calls":[{"a":1]', '{"calls":[1}', '{"calls":[],,', '{"calls" 1', '{"calls":1}', '{"output":}',
     '{"calls":[],"calls":[]}', '{"calls":[]', "", "[1]", '{"other":1}', '{"calls":[]"output"'],
)  # fmt: skip
def test_what_is_no_answer_is_an_error_with_words(text: str) -> None:
    with pytest.raises(AnswerSyntax, match=r"\w+ \w+"):
        read(text, [])
