"""A text in YAML means what it would mean in JSON, whatever YAML 1.1 makes of its words (X1)."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actum import errors
from actum.ideas.file import parse_text, read_idea
from actum.schema.json import Json, encode

from ..effort import trials

pytestmark = pytest.mark.rule("X1")

TEXTS = [
    *("NO", "no", "yes", "Yes", "on", "Off", "y"),
    *("12:30", "190:20:30.15", "-1:30", "010", "-007", "00", "+5", "+49301234", "0x1F", "0o10", "0b1", "1_000"),
    *("2024-01-01", "2024-01-01T10:00:00Z", "2001-99-99", "=", "<<", ".inf", "-.Inf", ".nan", "1.2.3", "١"),
]


@pytest.mark.parametrize("word", TEXTS)
def test_a_word_that_json_has_no_value_for_stays_the_text_that_was_written(word: str) -> None:
    assert parse_text(f"a: {word}\n{word}: [{word}]", "x.yaml") == {"a": word, word: [word]}


@pytest.mark.parametrize(
    ("word", "value"),
    [
        *(("true", True), ("True", True), ("FALSE", False), ("null", None), ("~", None), ("", None)),
        *(("0", 0), ("-12", -12), ("1.50", 1.5), (".5", 0.5), ("-5.", -5.0), ("1e3", 1000.0), ("2E-2", 0.02)),
        *(("'12'", "12"), ('"true"', "true"), ("!!str 12", "12"), ("!!bool yes", True)),
        ("!!timestamp 2024-01-01", "2024-01-01"),
    ],
)  # fmt: skip
def test_null_true_false_and_numbers_are_what_they_are_unless_they_are_quoted(word: str, value: Json) -> None:
    parsed = parse_text(f"a: {word}", "x.yaml")
    assert (parsed, type(parsed["a"])) == ({"a": value}, type(value))


def test_a_key_is_the_text_that_was_written() -> None:
    assert parse_text("{200: a, NO: b, 1.0: c, ~: d, true: e}", "x.yaml") == {
        "200": "a", "NO": "b", "1.0": "c", "~": "d", "true": "e",
    }  # fmt: skip
    with pytest.raises(errors.IdeaError, match="the key '200' occurs twice in one object at line 2"):
        parse_text("200: a\n'200': b", "x.yaml")


def test_an_idea_keeps_the_words_of_its_author() -> None:
    idea = read_idea("context:\n- {type: state, country: NO, at: 12:30, code: 010, day: 2024-01-01, n: 10}\n", "x.yaml")
    assert idea.context == [
        {"type": "state", "country": "NO", "at": "12:30", "code": "010", "day": "2024-01-01", "n": 10}
    ]


@settings(max_examples=trials(500))
@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text("NOy1:.e~"),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("a1~"), inner, max_size=3),
        max_leaves=8,
    )
)  # fmt: skip
def test_what_is_json_says_the_same_as_yaml(value: Json) -> None:
    assert encode(parse_text(encode(value), "x.yaml")) == encode(value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: &x 1\nb: *x", "aliases .* are not accepted"),
        ("a: [1", "line 1, column 6"),
        ("a: 1e999", "not a JSON number"),
        ("? [a]\n: b", "unhashable key"),
    ],
)
def test_what_json_cant_say_is_refused(text: str, message: str) -> None:
    with pytest.raises(errors.IdeaError, match=rf"^x\.yaml: .*{message}"):
        parse_text(text, "x.yaml")
