"""The dialects as data (T9)."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest

from actum.schema.lowering import ANTHROPIC, COMPATIBLE, GOOGLE, GRAMMAR, LADDER, OPENAI, Dialect

DIALECTS = (OPENAI, ANTHROPIC, GOOGLE, GRAMMAR, COMPATIBLE)
every_dialect = pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)


def test_the_ladder_goes_from_the_firmest_hold_to_none() -> None:
    assert [(rung.name, rung.references, rung.mode) for rung in LADDER] == [
        ("strict", "wide", "strict"),
        ("aside", "aside", "strict"),
        ("loose", "wide", "loose"),
        ("prompted", "wide", "prompted"),
    ]


@every_dialect
def test_every_dialect_has_rungs_of_the_ladder_in_its_order_and_ends_where_nothing_is_refused(dialect: Dialect) -> None:
    places = [LADDER.index(rung) for rung in dialect.rungs]
    assert places == sorted(set(places))
    assert dialect.rungs[0].mode == "strict"
    assert dialect.rungs[-1].mode == "prompted"


@every_dialect
def test_a_dialect_can_not_be_changed(dialect: Dialect) -> None:
    with pytest.raises(FrozenInstanceError):
        dialect.closed = False  # pyright: ignore[reportAttributeAccessIssue]  # the point of the test
    with pytest.raises(TypeError):
        dialect.caps["minItems"] = 2  # pyright: ignore[reportIndexIssue]  # likewise


@every_dialect
def test_where_every_property_is_required_objects_are_closed(dialect: Dialect) -> None:
    assert dialect.closed or not dialect.all_required


def test_only_decoders_that_are_no_service_hide_the_schema_from_the_model() -> None:
    assert [dialect.name for dialect in DIALECTS if not dialect.shows_schema] == ["grammar"]


def test_names_are_distinct() -> None:
    assert len({dialect.name for dialect in DIALECTS}) == len(DIALECTS)
