"""A request whose schema is given as text behaves as any other: it can be replaced, copied and pickled."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace
from typing import Any

import pytest

from actum.generation.model import ModelMessage, ModelRequest

MESSAGES: tuple[ModelMessage, ...] = ({"role": "user", "content": "Go."},)
SCHEMA: dict[str, Any] = {"type": "object", "properties": {"ü": {"const": "†"}}}
TEXT = '{"type":"object","properties":{"ü":{"const":"†"}}}'


def of_text() -> ModelRequest:
    return ModelRequest.of_text(MESSAGES, TEXT, {"temperature": 0}, "loose")


def test_it_is_the_request_of_that_schema() -> None:
    given = ModelRequest(messages=MESSAGES, schema=SCHEMA, settings={"temperature": 0}, mode="loose")
    assert of_text() == given
    assert repr(of_text()) == repr(given)
    assert (of_text().schema_text, given.schema_text) == (TEXT, TEXT)


def test_what_is_done_to_its_schema_is_its_own_and_is_sent() -> None:
    request = of_text()
    request.schema["title"] = "changed"
    assert request.schema_text == TEXT[:-1] + ',"title":"changed"}'
    assert "title" not in of_text().schema


@pytest.mark.parametrize("read", [True, False])
def test_it_can_be_replaced_copied_and_pickled(read: bool) -> None:
    request = of_text()
    assert not read or request.schema == SCHEMA
    for copied in (replace(request, mode="loose"), copy.deepcopy(request), pickle.loads(pickle.dumps(request))):
        assert copied == request
        assert copied.schema_text == TEXT
    assert replace(request, schema={}).schema_text == "{}"


def test_it_has_no_other_attributes() -> None:
    with pytest.raises(AttributeError, match="shema"):
        getattr(of_text(), "shema")  # noqa: B009 -- as a mistake would
