"""What Config, Limits and Settings take: what they don't is told with its field, and limits are only ever narrowed."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from actum import Config, Limits, Settings, errors
from actum.protocol.config import is_number_within, is_whole_within


@pytest.mark.rule("X1")
@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"drain": -1}, "drain must be a number of seconds, not -1"),
        ({"drain": True}, "drain must be a number of seconds, not True"),
        ({"drain": math.nan}, "drain must be a number of seconds, not nan"),
        ({"drain": "1"}, "drain must be a number of seconds, not '1'"),
        ({"parallel": 0}, "parallel must be a whole number, not 0"),
        ({"retries": -1}, "retries must be a whole number, not -1"),
        ({"max_depth": True}, "max_depth must be a whole number, not True"),
        ({"tool_budget": 1.5}, "tool_budget must be a whole number, not 1.5"),
        ({"max_media_bytes": None}, "max_media_bytes must be a whole number, not None"),
        ({"max_delegate_bytes": "1"}, "max_delegate_bytes must be a whole number, not '1'"),
        ({"meta": 1}, "meta must be true, false or null, not 1"),
        ({"paths": 0}, "paths must be true, false or null, not 0"),
        ({"flow": None}, "flow must be true or false, not None"),
        ({"sealed": 1}, "sealed must be true or false, not 1"),
        ({"mode": "slow"}, "mode must be eager or lazy, not 'slow'"),
        ({"reader": ""}, "reader must be a model or its name, not ''"),
        ({"reader": 5}, "reader must be a model or its name, not 5"),
        ({"allow_hosts": "a"}, "allow_hosts must be a list of names, not 'a'"),
        ({"grants": None}, "grants must be a list of names, not None"),
        ({"tools": 5}, "tools must be a list of names, not 5"),
        ({"spread": "a"}, "spread must be true, false or a list of tools, not 'a'"),
    ],
    ids=str,
)
def test_what_a_config_can_not_be_is_told_with_its_field(given: dict[str, Any], complaint: str) -> None:
    with pytest.raises(errors.SchemaError) as caught:
        Config(**given)
    (name,) = given
    assert (str(caught.value), caught.value.path) == (f"at config.{name}: {complaint}", f"config.{name}")


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"spread": ["a", 1]}, "at config.spread.1: spread must be true, false or a list of tools: 1 is not one"),
        ({"grants": [None]}, "at config.grants.0: grants must be a list of names: None is not one"),
    ],
)
def test_an_item_of_a_list_that_is_no_name_is_named_by_its_place(given: Any, complaint: str) -> None:
    with pytest.raises(errors.SchemaError) as caught:
        Config(**given)
    assert str(caught.value) == complaint


@pytest.mark.parametrize(
    "given",
    [{"drain": 0}, {"retries": 0}, {"parallel": 1}, {"tools": None}, {"tools": []}, {"reader": "m:1"}, {"spread": []}],
    ids=str,
)
def test_what_a_config_can_be_stays_as_it_was_given(given: dict[str, Any]) -> None:
    (name,) = given
    assert getattr(Config(**given), name) == given[name]


@pytest.mark.parametrize("is_within", [is_number_within, is_whole_within])
def test_bounds_are_within_themselves(is_within: Callable[..., bool]) -> None:
    assert [value for value in range(6) if is_within(value, 2, 4)] == [2, 3, 4]
    assert [value for value in (-1, 0, 10**9, True, "1", math.nan) if is_within(value)] == [0, 10**9]


@pytest.mark.rule("L5")
@pytest.mark.parametrize("name", ["requests", "calls", "seconds", "tokens", "usd", "depth", "bytes"])
def test_a_limit_is_a_number_that_is_not_negative_or_none(name: str) -> None:
    for value in (None, 0, 3):
        assert getattr(Limits(**{name: value}), name) == value
    wrong: list[Any] = [-1, True, "5", math.nan, []]
    for value in wrong:
        with pytest.raises(errors.SchemaError) as caught:
            Limits(**{name: value})
        kind = "number" if name in {"seconds", "usd"} else "whole number"
        complaint = f"at limits.{name}: {name} must be a {kind} that is not negative, or None, not {value!r}"
        assert (str(caught.value), caught.value.path) == (complaint, f"limits.{name}")


@pytest.mark.rule("L5")
@pytest.mark.parametrize("name", ["requests", "calls", "tokens", "depth", "bytes"])
def test_what_is_counted_has_a_whole_number_as_its_limit(name: str) -> None:
    half: dict[str, Any] = {name: 0.5}
    with pytest.raises(errors.SchemaError) as caught:
        Limits(**half)
    assert (
        str(caught.value) == f"at limits.{name}: {name} must be a whole number that is not negative, or None, not 0.5"
    )
    assert caught.value.path == f"limits.{name}"


@pytest.mark.rule("L5")
@pytest.mark.parametrize(
    ("limits", "by", "name", "least"),
    [
        ({"requests": 7}, {"requests": 3}, "requests", 3),
        ({"requests": 3}, {"requests": 7}, "requests", 3),
        ({"usd": None}, {"usd": 0.5}, "usd", 0.5),
        ({"usd": 0.5}, {"usd": None}, "usd", 0.5),
        ({"calls": None}, {"calls": None}, "calls", None),
        ({"calls": 4}, {}, "calls", 4),
        ({"calls": 4}, {"requests": 1}, "calls", 4),
    ],
)
def test_limits_are_narrowed_and_never_widened(
    limits: dict[str, Any], by: dict[str, Any], name: str, least: Any
) -> None:
    assert getattr(Limits(**limits).narrowed(by), name) == least


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"temperature": -1}, "temperature must be a number that is not negative, not -1"),
        ({"top_p": True}, "top_p must be a number that is not negative, not True"),
        ({"timeout": "1"}, "timeout must be a number that is not negative, not '1'"),
        ({"max_tokens": 0}, "max_tokens must be a whole number, not 0"),
        ({"seed": 1.5}, "seed must be a whole number, not 1.5"),
        ({"seed": True}, "seed must be a whole number, not True"),
        ({"stop": "x"}, "stop must be a list of texts, not 'x'"),
        ({"stop": ["x", 1]}, "stop must be a list of texts, not ['x', 1]"),
        ({"headers": 5}, "headers must be an object of texts, not 5"),
        ({"headers": {"a": 1}}, "headers must be an object of texts, not {'a': 1}"),
        ({"extra": []}, "extra must be an object, not []"),
        ({"cache": "2h"}, "cache must be one of 'auto', False, '5m', '30m', '1h', '12h', not '2h'"),
        ({"tier": 1}, "tier must be one of 'default', 'flex', 'priority', not 1"),
        (
            {"thinking": 1},
            "thinking must be one of True, False, 'minimal', 'low', 'medium', 'high', 'xhigh', 'max', not 1",
        ),
    ],
    ids=str,
)
def test_what_a_setting_can_not_be_is_told_with_its_field(given: dict[str, Any], complaint: str) -> None:
    with pytest.raises(errors.SchemaError) as caught:
        Settings(**given)
    (name,) = given
    path = f"config.settings.{name}"
    assert (str(caught.value), caught.value.path) == (f"at {path}: {complaint}", path)


@pytest.mark.parametrize(
    "given",
    [
        {"temperature": 0},
        {"temperature": 0.5},
        {"max_tokens": 1},
        {"seed": 0},
        {"stop": []},
        {"stop": ["a"]},
        {"headers": {"a": "b"}},
        {"extra": {"min_p": 0.05}},
        {"cache": False},
        {"thinking": True},
        {"thinking": "low"},
    ],
    ids=str,
)
def test_what_a_setting_can_be_is_kept(given: dict[str, Any]) -> None:
    assert dict(Settings(**given)) == dict(Settings.of(given)) == given


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"service_tier": "flex"}, "no setting 'service_tier'; did you mean 'tier'?"),
        ({"openai_reasoning_effort": "low"}, "no setting 'openai_reasoning_effort'; did you mean 'thinking'?"),
        ({"anthropic_extra_headers": {}}, "no setting 'anthropic_extra_headers'; did you mean 'headers'?"),
        ({"temprature": 1}, "no setting 'temprature'; did you mean 'temperature'?"),
    ],
    ids=str,
)
def test_a_setting_that_is_called_otherwise_here_is_named(given: dict[str, Any], complaint: str) -> None:
    with pytest.raises(errors.SchemaError) as caught:
        Settings.of(given)
    (name,) = given
    assert (str(caught.value), caught.value.path) == (
        f"at config.settings.{name}: {complaint}",
        f"config.settings.{name}",
    )
