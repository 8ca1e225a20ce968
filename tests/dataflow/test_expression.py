"""The † language: what is written is what is read, in linear time."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum.dataflow.expression import (
    MISSING,
    MOST_TERMS,
    Each,
    Expression,
    First,
    evaluate,
    is_expression,
    parse,
    template,
)
from actum.dataflow.reference import Path, Reference, ReferenceSyntax, with_position

SEGMENTS = st.integers(0, 99) | st.text(min_size=0, max_size=6).filter(lambda text: "\ud800" not in text)
REFERENCES = st.builds(
    Reference, st.sampled_from(["state", "input", "données", "①"]), st.lists(SEGMENTS, max_size=4).map(tuple)
)


def nested(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    """Expressions as parsing gives them: no choice right inside a choice, no sequence inside a sequence."""
    choice = st.lists(inner.filter(lambda option: not isinstance(option, First)), min_size=2, max_size=3)
    sequence = st.lists(inner.filter(lambda part: not isinstance(part, Each)), min_size=2, max_size=3)
    return choice.map(lambda options: First(tuple(options))) | sequence.map(lambda parts: Each(tuple(parts)))


EXPRESSIONS: st.SearchStrategy[Expression] = st.recursive(REFERENCES, nested, max_leaves=6)


@pytest.mark.rule("O1", "O5")
@given(EXPRESSIONS)
def test_an_expression_is_read_as_it_is_printed(expression: Expression) -> None:
    text = str(expression)
    if text.startswith("("):
        text = f"†x *> {text}"
        assert str(parse(text)) == text
    else:
        assert parse(text) == expression


@pytest.mark.rule("O1")
@pytest.mark.parametrize(
    ("path", "depth", "better"),
    [
        (("l", "0", "x"), 1, "†state.l[0].x"),
        (("l", "0", "x"), 0, None),
        (("l", "0"), 2, None),
        (("l", 0), 1, None),
        (("10",), 0, "†state[10]"),
    ],
)
def test_a_key_of_digits_can_be_read_as_a_position(path: Path, depth: int, better: str | None) -> None:
    reference = with_position(Reference("state", path), depth)
    assert better == (None if reference is None else str(reference))


@pytest.mark.rule("O5")
@given(EXPRESSIONS, st.dictionaries(REFERENCES, st.none() | st.integers(), max_size=6))
def test_evaluating_follows_the_definition(expression: Expression, held: dict[Reference, int | None]) -> None:
    def naive(expression: Expression) -> object:
        if isinstance(expression, Reference):
            return held.get(expression, MISSING)
        if isinstance(expression, First):
            return next((value for option in expression.options if (value := naive(option)) is not MISSING), MISSING)
        assert isinstance(expression, Each)
        values = [naive(part) for part in expression.parts]
        return MISSING if MISSING in values else values[-1]

    assert evaluate(expression, lambda reference: held.get(reference, MISSING)) is naive(expression)


@given(st.text('†.[]()"<|>*& ab0\\', max_size=40))
def test_any_text_is_a_value_a_reference_or_a_typed_error(text: str) -> None:
    if is_expression(text) and text.startswith("†"):
        with suppress(ReferenceSyntax):
            assert template({"x": text}).expressions
    else:
        parsed = template({"x": text})
        assert parsed.expressions or parsed.fill([])["x"] == text.replace("††", "†")


@pytest.mark.parametrize(
    "text", ["†a" + " <|> †a" * 100_000, "†a *> " + "(" * 100_000, "†" + "a." * 100_000, '†a["' + "\\" * 100_001]
)
def test_an_expression_bomb_is_refused_at_once(text: str) -> None:
    with pytest.raises(ReferenceSyntax):
        parse(text)


@pytest.mark.rule("O1")
@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("†", "a kind must follow † at character 1 of '†'"),
        ("†state.", "no path segment can be read at character 6 of '†state.'"),
        ("†state['a", 'no path segment can be read at character 6 of "†state[\'a"'),
        ("†state.a <|>", "a reference is expected at character 12 of '†state.a <|>'"),
        (" <|> †a", "a reference is expected at character 0 of ' <|> †a'"),
        ("(†a", "')' is expected at character 3 of '(†a'"),
        ("†a b", "an operator is expected at character 3 of '†a b'"),
        ("†a)", "an operator is expected at character 2 of '†a)'"),
        ("†state" + ".a" * 129, "a path of more than 128 steps leads nowhere: no value nests so deep"),
    ],
    ids=lambda text: text[:30],
)
def test_what_is_no_reference_is_told_with_its_place(text: str, complaint: str) -> None:
    with pytest.raises(ReferenceSyntax) as caught:
        parse(text)
    assert str(caught.value) == complaint


@pytest.mark.rule("O1")
@pytest.mark.parametrize("text", ["†state.größe[2].x", '†state["größe in m"]["a.b"]', "†calls.0 <|> †state.x"])
def test_a_reference_is_told_as_it_was_written(text: str) -> None:
    assert str(parse(text)) == text


@pytest.mark.rule("O1", "L5")
def test_an_expression_has_so_many_references_and_no_more() -> None:
    most = " <|> ".join(["†a"] * MOST_TERMS)
    assert str(parse(most)) == most
    with pytest.raises(ReferenceSyntax, match=f"at most {MOST_TERMS} references"):
        parse(f"{most} *> †a")


@pytest.mark.rule("O1")
@pytest.mark.parametrize(
    "text", ["(†a <|> †b) *> †c", "( †a <|> †b ) *> †c", "(†a<|>†b)*>†c", "( ( †a  <|>  †b ) )  *>  †c "]
)
def test_spaces_around_operators_and_brackets_mean_nothing(text: str) -> None:
    assert parse(text) == parse("(†a <|> †b) *> †c")
