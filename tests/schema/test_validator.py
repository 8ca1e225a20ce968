"""Judging values: offline, bounded, and with a message that names the place."""

from __future__ import annotations

import pytest

from actum.errors import SchemaError
from actum.schema.validator import Validator


def test_a_complaint_names_the_place_and_what_is_wrong() -> None:
    schema = {
        "type": "object",
        "properties": {"days": {"type": "array", "items": {"type": "object", "required": ["low"]}}},
    }
    complaint = Validator(schema).complaint({"days": [{"low": 1}, {}]})
    assert complaint is not None
    assert complaint.startswith("days[1]: ")
    assert "low" in complaint


def test_only_the_first_complaints_are_listed_and_long_ones_are_cut() -> None:
    complaint = Validator({"items": {"type": "integer"}}).complaint(["x" * 10_000] * 1_000)
    assert complaint is not None
    assert len(complaint) < 1_500


def test_a_schema_that_leaves_its_document_is_refused() -> None:
    for reference in ("https://example.com/schema.json", "file:///etc/passwd", "other.json#/x"):
        with pytest.raises(SchemaError):
            Validator({"$ref": reference}, tool="it")


@pytest.mark.parametrize("pattern", ["^(a+)+$", "^(a|a)*$", "^(?=(a+)+b)a*$", "(.*a){20}"])
def test_a_pattern_that_explodes_elsewhere_is_judged_at_once(pattern: str) -> None:
    judge = Validator({"type": "string", "pattern": pattern})
    assert judge.accepts("a" * 50_000 + "!") in {True, False}


def test_big_numbers_are_judged_exactly() -> None:
    assert Validator({"type": "integer"}).accepts(10**4000)
    assert not Validator({"maximum": 5}).accepts(10**400)
    assert Validator({"const": 2**53 + 1}).accepts(2**53 + 1)
    assert not Validator({"const": 2**53 + 1}).accepts(2**53)


def test_integers_and_floats_of_one_value_are_one() -> None:
    assert Validator({"type": "integer"}).accepts(1.0)
    assert not Validator({"type": "integer"}).accepts(True)
    assert Validator({"enum": [1]}).accepts(1.0)
