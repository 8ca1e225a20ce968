"""A `TypedDict` is a type like others, from `typing` and from `typing_extensions`, on every version of Python (T13)."""

from __future__ import annotations

import typing
from typing import Any, NotRequired

import pytest
import typing_extensions

from actum import Tools
from actum.schema.infer import shape_of


class Place(typing.TypedDict):
    city: str


class Trip(typing.TypedDict, total=False):
    places: list[Place]
    note: typing.Required[str | None]


class Stop(typing_extensions.TypedDict):
    place: NotRequired[str]


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (Place, {"city": "Lima"}),
        (list[Place], [{"city": "Lima"}]),
        (dict[str, Trip], {"a": {"note": None, "places": [{"city": "Lima"}]}}),
        (Trip | None, None),
        (typing.Optional[list[Trip]], [{"note": "x"}]),  # noqa: UP045 -- as others write it
        (Stop, {}),
    ],
)
def test_a_typed_dict_has_a_schema_and_takes_its_values(annotation: Any, value: Any) -> None:
    shape = shape_of(annotation)
    assert shape.parse(value) == value


def test_its_optional_keys_are_optional_and_the_others_are_not() -> None:
    schema = shape_of(Trip).schema
    assert schema["required"] == ["note"]
    assert shape_of(Stop).schema.get("required", []) == []


def test_a_tool_may_return_one() -> None:
    tools = Tools()

    @tools.tool
    async def trips() -> list[Trip]:
        """List trips."""
        return []

    assert trips.tool is not None
    assert trips.tool.output is not None
    assert trips.tool.output["type"] == "array"
