"""The composed schema as each provider takes it, case by case (T9)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, ClassVar, Literal

import pytest

from actum.schema.lowering import (
    ANTHROPIC,
    ASIDE,
    COMPATIBLE,
    GOOGLE,
    GRAMMAR,
    LOOSE,
    OPENAI,
    PROMPTED,
    STRICT,
    Dialect,
    Lowered,
    Rung,
    choose,
    lower,
)
from actum.schema.validator import Validator

from ..effort import spread
from .composing import REFERENCE, call, compose, composer

Json = Any

DIALECTS = (OPENAI, ANTHROPIC, GOOGLE, GRAMMAR, COMPATIBLE)
SHORT_REFERENCE = {"type": "string", "pattern": "^†.+$"}
WIRE_REFERENCE = {"type": "string", "pattern": '^†[^"\\\\\\x00-\\x1f]+$'}

every_dialect = pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)


def lower_parameter(
    parameter: Json, dialect: Dialect, rung: Rung = ASIDE, *, required: bool = True, definitions: Json = None
) -> Lowered:
    """A tool `t` of one parameter `p`, lowered; aside, so that no reference stands in the way."""
    tool = {"properties": {"p": parameter}, "required": ["p"] if required else []}
    return lower(compose([call("t", tool, rung.references)], definitions=definitions), dialect, rung)


def wire(lowered: Lowered) -> Json:
    return lowered.schema["properties"]["calls"]["items"]["properties"]["p"]


def restored(lowered: Lowered, value: Json) -> Json:
    return lowered.restore_call({"_tool": "t", "p": value})


class TestStructure:
    def test_a_whole_schema_for_openai_reads_like_this(self) -> None:
        tool = {
            "description": "Forecast for a city.",
            "properties": {"city": {"type": "string"}, "days": {"type": "integer", "minimum": 1, "default": 1}},
            "required": ["city"],
        }
        lowered = lower(compose([call("weather", tool)]), OPENAI, STRICT)
        assert lowered.schema["properties"]["calls"] == {
            "type": "array",
            "items": {
                "type": "object",
                "description": "Forecast for a city.",
                "properties": {
                    "_tool": {"type": "string", "const": "weather"},
                    "city": {"type": "string"},
                    "days": {
                        "anyOf": [
                            {"type": "integer", "description": "(default: 1)", "minimum": 1},
                            SHORT_REFERENCE,
                            {"type": "null"},
                        ]
                    },
                },
                "required": ["_tool", "city", "days"],
                "additionalProperties": False,
            },
        }
        assert list(lowered.schema["properties"]) == lowered.schema["required"] == ["calls", "output", "meta"]
        assert lowered.problems == ()
        assert [note.change for note in lowered.notes] == ["`default` moved to the description"]

    @every_dialect
    def test_an_agent_without_tools_is_not_asked_for_the_calls_that_it_can_not_make(self, dialect: Dialect) -> None:
        lowered = lower(compose([]), dialect, STRICT)
        assert list(lowered.schema["properties"]) == lowered.schema["required"] == ["output", "meta"]
        assert lowered.problems == ()

    @every_dialect
    def test_a_path_that_may_be_given_costs_nothing_where_it_is_not(self, dialect: Dialect) -> None:
        path: Json = {"type": "string", "pattern": "^†"}
        cases: list[tuple[str, Json, list[str]]] = [
            ("a", path, []),
            ("b", path, []),
            ("c", {"const": "†state.c"}, []),
            ("d", path, ["_outputPath"]),
        ]
        calls: list[Json] = []
        for name, path_schema, more in cases:
            properties = {"_tool": {"const": name}, "n": {"type": "string"}, "_outputPath": path_schema}
            calls.append({"type": "object", "properties": properties, "required": ["_tool", "n", *more]})
        lowered = lower(compose(calls), dialect, STRICT)
        assert lowered.problems == ()
        plain: Json = {"_tool": "a", "n": "x"}
        whole: Json = {"_outputPath": "†state.x", "_call": plain}
        schema = Validator(lowered.schema)
        offered: Json = {
            "calls": [plain, {"_tool": "d", "n": "", "_outputPath": "†state.y"}],
            "output": None,
            "meta": {"path": "a", "version": "1"},
        }
        if dialect.all_required or dialect is ANTHROPIC:
            assert schema.accepts(offered | {"calls": [plain, whole]}), schema.complaint(offered)
            assert not schema.accepts(offered | {"calls": [{**plain, "_outputPath": None}]})
            assert lowered.restore_call(whole) == {**plain, "_outputPath": "†state.x"}
        else:
            assert "_call" not in json.dumps(lowered.schema)
        assert lowered.restore_call(plain) == plain

    @every_dialect
    @pytest.mark.parametrize("count", [1, 6])
    def test_of_each_call_what_may_be_said_of_it_and_no_more(self, dialect: Dialect, count: int) -> None:
        each: Json = {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "string"}]}
        condition: Json = {"type": "string"}
        groups: dict[str, Json] = {
            "both": {"_each": each, "_when": condition, "_outputPath": REFERENCE},
            "flow": {"_each": {"$ref": "#/$defs/each"}, "_when": condition},
            "path": {"_outputPath": REFERENCE},
            "none": {},
        }
        tool = {"properties": {"n": {"type": "string"}}, "required": ["n"]}
        calls = [call(f"{name}{n}", tool, **meta) for name, meta in groups.items() for n in range(count)]
        lowered = lower(compose(calls, definitions={"each": each}), dialect, STRICT)
        assert lowered.problems == ()
        schema = Validator(lowered.schema)
        rest: Json = {"output": None, "meta": {"path": "a", "version": "1"}}
        values: Json = {"_each": ["a"], "_when": "{†calls.0}", "_outputPath": "†state.x"}
        for name, offered in groups.items():
            plain: Json = {"_tool": f"{name}0", "n": "x"}
            assert schema.accepts({"calls": [plain], **rest})
            assert lowered.restore_call(plain) == plain
            for key, value in values.items():
                nulls: Json = dict.fromkeys(offered) | {key: value}
                spelt = value if isinstance(value, str) else json.dumps(value)
                forms: list[Json] = [plain | {key: value}, {key: value, "_call": plain}, {**nulls, "_call": plain}]
                forms += [{key: spelt, "_call": plain}, {**nulls, key: spelt, "_call": plain}]
                accepted = [form for form in forms if schema.accepts({"calls": [form], **rest})]
                assert bool(accepted) is (key in offered), (name, key)
                assert all(lowered.restore_call(form) == plain | {key: value} for form in accepted)

    @pytest.mark.parametrize("rung", [LOOSE, PROMPTED], ids=lambda rung: rung.name)
    @pytest.mark.parametrize("count", [1, 6])
    def test_where_nothing_is_enforced_both_forms_are_read_back(self, rung: Rung, count: int) -> None:
        meta: Json = {"_each": {"type": "string"}, "_when": {"type": "string"}}
        lowered = lower(compose([call(f"t{n}", {}, **meta) for n in range(count)]), OPENAI, rung)
        assert ("_call" in json.dumps(lowered.schema)) is (count > 3)
        whole: Json = {"_tool": "t0", "_when": "{†calls.0}"}
        assert lowered.restore_call(whole) == whole
        if count > 3:
            assert lowered.restore_call({"_when": "{†calls.0}", "_call": {"_tool": "t0"}}) == whole

    @every_dialect
    def test_a_reference_at_many_places_is_stated_once(self, dialect: Dialect) -> None:
        properties = {f"p{n}": {"type": "array", "items": {"type": "integer"}} for n in range(9)}
        lowered = lower(compose([call("t", {"properties": properties, "required": [*properties]})]), dialect, STRICT)
        text = json.dumps(lowered.schema, ensure_ascii=False)
        assert text.count("†") <= 2, "its pattern, or words of it"
        assert text.count("#/$defs/ref") == 9
        few = lower(compose([call("t", {"properties": {"p": {"enum": ["a", "b"]}}})]), dialect, STRICT)
        assert "$defs" not in few.schema

    @every_dialect
    def test_a_list_of_types_becomes_a_union(self, dialect: Dialect) -> None:
        node = wire(
            lower_parameter({"type": ["array", "null"], "items": {"type": "string"}, "description": "d"}, dialect)
        )
        assert [branch["type"] for branch in node["anyOf"]] == ["array", "null"]
        assert node["description"] == "d"

    @every_dialect
    def test_a_union_of_scalars_is_one_list_of_types_where_that_is_taken(self, dialect: Dialect) -> None:
        """So is a reference beside them: no other text is valid there, and what one looks like is judged here (T9)."""
        scalars = {
            "anyOf": [{"type": "number", "description": "d"}, {"type": "null"}, {"pattern": "^†", "type": "string"}]
        }
        lowered = lower_parameter(scalars, dialect)
        noted = [note for note in lowered.notes if "what a reference looks like" in note.change]
        if dialect in (OPENAI, ANTHROPIC, COMPATIBLE):
            assert wire(lowered) == {"description": "d", "type": ["number", "null", "string"]}
            assert noted
        else:
            assert len(wire(lowered)["anyOf"]) == 3
            assert not noted
        for other in ({"type": "array", "items": {"type": "integer"}}, {"enum": ["a", "b"]}):
            assert "anyOf" in wire(lower_parameter({"anyOf": [other, {"type": "null"}]}, dialect))

    @every_dialect
    def test_required_is_listed_in_the_order_of_the_properties(self, dialect: Dialect) -> None:
        schema = {
            "type": "object",
            "properties": {"b": {"type": "null"}, "a": {"type": "null"}},
            "required": ["a", "b"],
        }
        assert wire(lower_parameter(schema, dialect))["required"] == ["b", "a"]
        assert wire(lower_parameter(schema, dialect, PROMPTED))["anyOf"][0]["required"] == ["b", "a"]

    def test_google_is_sent_a_listed_value_for_a_constant(self) -> None:
        properties = lower_parameter({"type": "string"}, GOOGLE).schema["properties"]["calls"]["items"]["properties"]
        assert properties["_tool"] == {"type": "string", "enum": ["t"]}

    def test_google_is_sent_the_inclusive_bound_of_an_integer_and_no_other(self) -> None:
        whole = lower_parameter({"type": "integer", "exclusiveMinimum": 0}, GOOGLE)
        assert wire(whole) == {"type": "integer", "minimum": 1}
        assert not [note for note in whole.notes if note.path.endswith("/p")]
        number = lower_parameter({"type": "number", "exclusiveMinimum": 0}, GOOGLE)
        assert wire(number) == {"type": "number", "description": "(exclusiveMinimum: 0)"}
        assert number.notes[0].change == "`exclusiveMinimum` moved to the local check"

    def test_what_a_provider_refuses_is_said_in_words_and_noted_with_its_place(self) -> None:
        lowered = lower_parameter({"type": "string", "minLength": 2, "description": "A name."}, ANTHROPIC)
        assert wire(lowered) == {"type": "string", "description": "A name. (minLength: 2)"}
        assert (lowered.notes[0].path, lowered.notes[0].change) == (
            "#/properties/calls/items/properties/p",
            "`minLength` moved to the local check",
        )

    def test_bounds_that_say_nothing_are_not_said_in_words(self) -> None:
        assert wire(lower_parameter({"type": "integer", "maximum": 2**53 - 1}, OPENAI)) == {"type": "integer"}

    def test_anthropic_is_sent_the_part_of_a_least_count_that_it_takes(self) -> None:
        node = wire(lower_parameter({"type": "array", "items": {"type": "null"}, "minItems": 3}, ANTHROPIC))
        assert (node["minItems"], node["description"]) == (1, "(minItems: 3)")

    def test_decoders_are_not_sent_repetitions_that_blow_up_their_grammar(self) -> None:
        assert "maxLength" not in wire(lower_parameter({"type": "string", "maxLength": 100_000}, GRAMMAR))
        assert wire(lower_parameter({"type": "string", "maxLength": 80}, GRAMMAR))["maxLength"] == 80


class TestPatterns:
    @every_dialect
    def test_a_reference_is_spelled_so_that_decoders_keep_it(self, dialect: Dialect) -> None:
        for rung in dialect.rungs:
            lowered = lower_parameter(REFERENCE, dialect, rung)
            text = str(lowered.schema)
            assert "'^†'" not in text
            node = wire(lowered)
            stated = lowered.schema["$defs"]["ref"] if "$ref" in node else node
            assert (
                dialect is GOOGLE
                or rung.mode != "strict"
                or stated == (SHORT_REFERENCE if dialect.patterns == "plain" else WIRE_REFERENCE)
            )

    @every_dialect
    def test_a_template_is_spelled_so_that_decoders_keep_it(self, dialect: Dialect) -> None:
        for rung in dialect.rungs:
            lowered = lower_parameter({"type": "string", "pattern": "^[†{]"}, dialect, rung)
            if dialect is GOOGLE and rung.mode == "strict":
                assert wire(lowered) == {"type": "string", "description": "(†… or {…})"}
            else:
                kept = '[^"\\\\\\x00-\\x1f'
                is_read = dialect.shows_schema or rung.mode != "strict"
                begun = "^[†{]" if is_read else rf"^(†|\{{{kept}†]*†)"  # where nobody reads it, it demands a † (E1)
                is_short = rung.mode == "strict" and dialect.patterns == "plain"
                assert wire(lowered) == {"type": "string", "pattern": "^[†{].+$" if is_short else f"{begun}{kept}]+$"}

    @pytest.mark.parametrize(
        ("pattern", "plain", "anchored"),
        [
            ("^[a-z0-9-]+$", True, True),
            (r"^\d{4}-\d\d$", True, True),
            ("^(a|b)$", True, False),
            ("[a-z]", True, False),
            ("^.*$", True, False),
            ('^[^"]+$', True, False),
            (r"^\s+$", True, False),
            ("^(?=a)b$", False, False),
            (r"^(a)\1$", False, False),
            (r"\bword", False, False),
        ],
    )
    def test_only_patterns_that_mean_the_same_to_the_decoder_are_sent(
        self, pattern: str, plain: bool, anchored: bool
    ) -> None:
        schema = {"type": "string", "pattern": pattern}
        assert ("pattern" in wire(lower_parameter(schema, OPENAI))) is plain
        assert ("pattern" in wire(lower_parameter(schema, GRAMMAR))) is anchored
        assert "pattern" not in wire(lower_parameter(schema, GOOGLE))


class TestOptional:
    @every_dialect
    def test_null_for_an_optional_parameter_comes_back_absent(self, dialect: Dialect) -> None:
        for rung in dialect.rungs:
            lowered = lower_parameter({"type": "integer"}, dialect, rung, required=False)
            assert restored(lowered, None) == {"_tool": "t"}

    @every_dialect
    def test_null_that_was_allowed_stays(self, dialect: Dialect) -> None:
        for rung in dialect.rungs:
            for schema in ({"type": ["integer", "null"]}, {"enum": [1, None]}, {"anyOf": [{"type": "null"}]}):
                assert restored(lower_parameter(schema, dialect, rung, required=False), None) == {
                    "_tool": "t",
                    "p": None,
                }

    @every_dialect
    def test_null_for_a_required_parameter_stays_and_is_judged(self, dialect: Dialect) -> None:
        assert restored(lower_parameter({"type": "integer"}, dialect), None) == {"_tool": "t", "p": None}

    @every_dialect
    def test_an_output_may_be_owed_and_its_null_is_kept(self, dialect: Dialect) -> None:
        offered = call("t", {}, _output={"type": "object", "properties": {"x": {"type": "null"}}, "required": ["x"]})
        offered["required"].append("_output")
        for rung in dialect.rungs:
            lowered = lower(compose([offered]), dialect, rung)
            node = lowered.schema["properties"]["calls"]["items"]["properties"]["_output"]
            assert {"type": "null"} in node["anyOf"]
            assert lowered.restore_call({"_tool": "t", "_output": None}) == {"_tool": "t", "_output": None}

    def test_members_deep_inside_are_restored_by_the_branch_that_they_fit(self) -> None:
        circle = {
            "type": "object",
            "properties": {"kind": {"const": "circle"}, "r": {"type": "number"}},
            "required": ["kind"],
        }
        named = {
            "type": "object",
            "properties": {"kind": {"const": "named"}, "r": {"type": ["number", "null"]}},
            "required": ["kind"],
        }
        lowered = lower_parameter({"type": "array", "items": {"anyOf": [circle, named]}}, OPENAI)
        value = [{"kind": "circle", "r": None}, {"kind": "named", "r": None}]
        assert restored(lowered, value)["p"] == [{"kind": "circle"}, {"kind": "named", "r": None}]

    def test_the_shape_of_a_call_is_that_of_the_tool_it_names(self) -> None:
        first = call("one", {"properties": {"p": {"type": "integer"}}})
        second = call("two", {"properties": {"p": {"type": ["integer", "null"]}}})
        lowered = lower(compose([first, second]), OPENAI, STRICT)
        assert lowered.restore_call({"_tool": "one", "p": None}) == {"_tool": "one"}
        assert lowered.restore_call({"_tool": "two", "p": None}) == {"_tool": "two", "p": None}
        assert lowered.restore_call({"_tool": "three", "p": None}) == {"_tool": "three", "p": None}
        assert lowered.restore_call({"p": None}) == {"p": None}

    def test_output_and_meta_are_restored_too(self) -> None:
        output = {"type": ["object", "null"], "properties": {"a": {"type": "string"}}, "additionalProperties": False}
        lowered = lower(compose([], output), OPENAI, STRICT)
        assert lowered.restore_output({"a": None}) == {}
        assert lowered.restore_output(None) is None
        assert lowered.restore_meta({"path": "p", "version": None}) == {"path": "p"}


class TestAnything:
    @every_dialect
    def test_values_that_nest_beyond_all_measure_are_left_alone_below_it(self, dialect: Dialect) -> None:
        lowered = lower_parameter({"$ref": "#/$defs/tree"}, dialect, definitions={"tree": TestDefinitions.TREE})
        deep: Json = None
        for _ in range(5000):
            deep = {"name": "a", "left": deep}
        value = restored(lowered, deep)["p"]
        assert value["left"]["left"]["name"] == "a"

    def test_what_the_validator_can_not_read_fits_no_branch(self) -> None:
        options = [{"type": "object", "properties": {name: {"type": "string"}}, "required": ["x"]} for name in "ab"]
        lowered = lower_parameter({"anyOf": [*options, {"type": "string"}]}, OPENAI, definitions=None)
        odd = {"a": "\ud800", "b": float("nan"), "x": None}
        assert restored(lowered, odd)["p"] == odd


class TestAside:
    def test_where_objects_are_closed_references_travel_as_a_list_that_may_name_nested_places(self) -> None:
        lowered = lower_parameter({"type": "array", "items": {"type": "integer"}}, ANTHROPIC)
        calls = lowered.schema["properties"]["calls"]["items"]
        assert calls["required"] == ["_tool", "p", "_with"]
        written = {"_tool": "t", "p": [0], "_with": [{"parameter": "p[0]", "reference": "†state.x"}]}
        assert lowered.restore_call(written) == {"_tool": "t", "p": [0], "_with": {"p[0]": "†state.x"}}
        assert lowered.restore_call({"_tool": "t", "p": [0], "_with": []}) == {"_tool": "t", "p": [0]}

    def test_elsewhere_they_stay_a_map(self) -> None:
        node = lower_parameter({"type": "integer"}, GRAMMAR).schema["properties"]["calls"]["items"]
        assert node["properties"]["_with"] == {"type": "object", "additionalProperties": WIRE_REFERENCE}
        assert "_with" not in node["required"]

    def test_a_tool_beyond_the_unions_of_anthropic_is_sent_without_them(self) -> None:
        tool = {
            "properties": {f"p{n}": {"type": "integer"} for n in range(20)},
            "required": [f"p{n}" for n in range(20)],
        }
        lowered = choose(composer([("t", tool)]), ANTHROPIC)
        assert lowered.rung == ASIDE

    def test_a_tool_beyond_its_optional_properties_is_not_enforced(self) -> None:
        tool: Json = {"properties": {f"p{n}": {"type": "string"} for n in range(30)}}
        strict = lower(composer([("t", tool)])("aside"), ANTHROPIC, ASIDE)
        assert strict.problems == ("#/properties/calls/items/properties/p24: 32 optional properties in all, limit 24",)
        assert choose(composer([("t", tool)]), ANTHROPIC).rung == LOOSE


class TestOpenObjects:
    @pytest.mark.parametrize("schema", [{"type": "object"}, {"type": "object", "additionalProperties": True}])
    def test_an_open_object_is_a_problem_where_objects_are_closed_and_never_an_empty_one(self, schema: Json) -> None:
        for dialect in (OPENAI, ANTHROPIC, COMPATIBLE):
            (problem,) = lower_parameter(schema, dialect).problems
            assert problem.startswith("#/properties/calls/items/properties/p: an open object")
        for dialect in (GOOGLE, GRAMMAR):
            lowered = lower_parameter(schema, dialect)
            assert lowered.problems == ()
            assert wire(lowered) == {"type": "object", "additionalProperties": True}

    def test_so_are_further_properties_beside_listed_ones(self) -> None:
        schema = {"type": "object", "properties": {"a": {"type": "null"}}, "additionalProperties": {"type": "string"}}
        assert "further properties" in lower_parameter(schema, OPENAI).problems[0]
        assert lower_parameter(schema, GOOGLE).problems == ()

    def test_a_map_of_one_type_travels_as_the_list_of_its_entries(self) -> None:
        lowered = lower_parameter({"type": "object", "additionalProperties": {"type": ["integer", "null"]}}, OPENAI)
        assert lowered.problems == ()
        written = [{"key": "a", "value": 1}, {"key": "b", "value": None}]
        assert restored(lowered, written)["p"] == {"a": 1, "b": None}
        assert restored(lowered, [{"key": "a"}])["p"] == [{"key": "a"}]

    def test_properties_by_pattern_are_a_map_where_there_are_no_others(self) -> None:
        lowered = lower_parameter({"type": "object", "patternProperties": {"^x-": {"type": "string"}}}, OPENAI)
        assert restored(lowered, [{"key": "x-a", "value": "b"}])["p"] == {"x-a": "b"}
        assert "`patternProperties`" in lowered.notes[0].change
        several = {"type": "object", "patternProperties": {"^a": {"type": "null"}, "^b": {"type": "null"}}}
        beside = {**several, "properties": {"c": {"type": "null"}}}
        assert "can't be listed" in lower_parameter(several, GRAMMAR).problems[0]
        assert "can't be listed" in lower_parameter(beside, OPENAI).problems[0]
        assert wire(lower_parameter(beside, GRAMMAR))["additionalProperties"] is True

    def test_literals_that_can_not_be_listed_are_a_problem(self) -> None:
        schema: dict[str, list[Any]] = {"enum": [{"a": 1}, []]}
        assert "can't be listed" in lower_parameter(schema, ANTHROPIC).problems[0]
        assert wire(lower_parameter(schema, GRAMMAR)) == {"anyOf": [{"enum": [{"a": 1}]}, {"enum": [[]]}]}
        assert "can't be listed" in lower_parameter({"type": "string", "enum": [1]}, OPENAI).problems[0]

    def test_what_takes_no_value_is_a_problem(self) -> None:
        assert "no value is valid" in lower_parameter(False, GRAMMAR).problems[0]

    def test_a_list_and_a_map_in_one_union_can_not_be_told_apart(self) -> None:
        either = {
            "anyOf": [
                {"type": "array", "items": {"type": "null"}},
                {"type": "object", "additionalProperties": REFERENCE},
            ]
        }
        assert "can't be told apart" in lower_parameter(either, OPENAI).problems[0]
        assert lower_parameter(either, GRAMMAR).problems == ()

    def test_what_has_no_type_is_a_problem(self) -> None:
        assert lower_parameter({}, OPENAI).problems == ("#/properties/calls/items/properties/p: has no type",)
        assert "its items have no type" in lower_parameter({"type": "array"}, ANTHROPIC).problems[0]
        assert lower_parameter({}, GRAMMAR).problems == lower_parameter({"type": "array"}, GRAMMAR).problems == ()


class TestCombinations:
    @every_dialect
    def test_all_of_is_one_schema(self, dialect: Dialect) -> None:
        first = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
        second = {"properties": {"b": {"type": "integer"}}, "required": ["b"]}
        node = wire(lower_parameter({"allOf": [first, second]}, dialect))
        assert node["properties"] == {"a": {"type": "string"}, "b": {"type": "integer"}}
        assert node["required"] == ["a", "b"]

    def test_all_of_that_contradicts_itself_is_a_problem(self) -> None:
        lowered = lower_parameter(
            {"allOf": [{"type": "string", "pattern": "a"}, {"type": "string", "pattern": "b"}]}, OPENAI
        )
        assert "`allOf` can't be expressed as one schema" in lowered.problems[0]

    def test_conditions_are_checked_locally(self) -> None:
        condition = {"if": {"properties": {"a": {"const": 1}}}, "then": {"required": ["b"]}}
        schema = {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "null"}},
            "allOf": [condition],
        }
        lowered = lower_parameter(schema, OPENAI)
        assert lowered.problems == ()
        assert "`allOf` moved to the local check" in [note.change for note in lowered.notes]

    def test_bounds_of_both_sides_are_the_narrower_ones(self) -> None:
        parts = [
            {"type": ["integer", "string"], "minimum": 1, "maximum": 9},
            {"type": ["integer", "null"], "minimum": 3, "maximum": 20},
        ]
        assert wire(lower_parameter({"allOf": parts}, OPENAI)) == {"type": "integer", "minimum": 3, "maximum": 9}
        listed = {"allOf": [{"enum": ["a", "b"]}, {"enum": ["b", "c"]}]}
        assert wire(lower_parameter(listed, OPENAI)) == {"type": "string", "enum": ["b"]}

    def test_all_of_brings_in_what_it_refers_to(self) -> None:
        base = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}
        schema = {"allOf": [{"$ref": "#/$defs/base"}, {"properties": {"id": {"type": "string", "format": "uuid"}}}]}
        node = wire(lower_parameter(schema, OPENAI, definitions={"base": base}))
        assert node["properties"] == {"id": {"type": "string", "format": "uuid"}}

    def test_what_closes_itself_can_not_be_extended(self) -> None:
        closed = {"type": "object", "properties": {"a": {"type": "null"}}, "additionalProperties": False}
        lowered = lower_parameter({"allOf": [closed, {"properties": {"b": {"type": "null"}}}]}, OPENAI)
        assert "`allOf`" in lowered.problems[0]

    def test_what_stands_beside_a_union_goes_into_each_of_its_options(self) -> None:
        options = [{"properties": {"a": {"type": "string"}}}, {"properties": {"b": {"type": "string"}}}]
        lowered = lower_parameter({"type": "object", "anyOf": options}, OPENAI)
        assert [list(option["properties"]) for option in wire(lowered)["anyOf"]] == [["a"], ["b"]]
        beside_reference = {"type": "object", "anyOf": [{"$ref": "#/$defs/a"}]}
        assert (
            "can't be expressed as one"
            in lower_parameter(beside_reference, OPENAI, definitions={"a": options[0]}).problems[0]
        )
        both = {"anyOf": [{"type": "null"}], "oneOf": [{"type": "null"}]}
        assert "side by side" in lower_parameter(both, OPENAI).problems[0]

    @every_dialect
    def test_options_of_a_whole_call_that_only_require_are_checked_locally(self, dialect: Dialect) -> None:
        tool: Json = {
            "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
            "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
        }
        lowered = lower(compose([call("t", tool)]), dialect, STRICT)
        assert lowered.problems == ()
        assert "`anyOf` moved to the local check" in [note.change for note in lowered.notes]
        tool["anyOf"] = [{"properties": {"c": {"type": "string"}}}]
        assert "of whole calls" in lower(compose([call("t", tool)]), dialect, STRICT).problems[0]

    def test_options_that_only_require_are_checked_locally(self) -> None:
        properties = {"a": {"type": "string"}, "b": {"type": "string"}}
        schema = {"type": "object", "properties": properties, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}
        lowered = lower_parameter(schema, OPENAI)
        assert set(wire(lowered)["properties"]) == {"a", "b"}
        assert lowered.problems == ()

    def test_one_of_is_sent_as_any_of(self) -> None:
        lowered = lower_parameter({"oneOf": [{"type": "string"}, {"type": "integer"}]}, OPENAI)
        assert wire(lowered) == {"type": ["string", "integer"]}
        assert "only one option holds" in lowered.notes[0].change

    def test_unions_in_unions_are_one_union(self) -> None:
        node = wire(
            lower_parameter({"anyOf": [{"type": "null"}, {"anyOf": [{"type": "string"}, {"type": "null"}]}]}, OPENAI)
        )
        assert node == {"type": ["null", "string"]}

    @every_dialect
    def test_positions_of_a_tuple_are_checked_locally_and_restored_by_position(self, dialect: Dialect) -> None:
        pair = {"type": "object", "properties": {"x": {"type": "integer"}}}
        for tuple_of in (
            {"prefixItems": [pair, {"type": "null"}], "items": False},
            {"items": [pair, {"type": "null"}]},
        ):
            lowered = lower_parameter({"type": "array", **tuple_of}, dialect)
            assert lowered.problems == ()
            assert restored(lowered, [{"x": None}, None])["p"] == [{}, None]
            prompted = lower_parameter({"type": "array", **tuple_of}, dialect, PROMPTED)
            assert "prefixItems" in wire(prompted)["anyOf"][0]
            assert restored(prompted, [{"x": None}, None])["p"] == [{}, None]


class TestDefinitions:
    TREE: ClassVar[Json] = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "left": {"$ref": "#/$defs/tree"}},
        "required": ["name"],
    }

    def test_recursion_is_refused_where_the_provider_refuses_it(self) -> None:
        for dialect in (ANTHROPIC, COMPATIBLE):
            lowered = lower_parameter({"$ref": "#/$defs/tree"}, dialect, definitions={"tree": self.TREE})
            assert lowered.problems[0].startswith("#/$defs/tree: refers to itself")
        for dialect in (OPENAI, GOOGLE, GRAMMAR):
            assert lower_parameter({"$ref": "#/$defs/tree"}, dialect, definitions={"tree": self.TREE}).problems == ()

    def test_google_takes_it_in_optional_properties_only(self) -> None:
        tree = {**self.TREE, "required": ["name", "left"]}
        assert (
            "optional properties only"
            in lower_parameter({"$ref": "#/$defs/tree"}, GOOGLE, definitions={"tree": tree}).problems[0]
        )

    def test_recursive_values_are_restored_all_the_way_down(self) -> None:
        lowered = lower_parameter({"$ref": "#/$defs/tree"}, OPENAI, definitions={"tree": self.TREE})
        value = {"name": "a", "left": {"name": "b", "left": None}}
        assert restored(lowered, value)["p"] == {"name": "a", "left": {"name": "b"}}

    @every_dialect
    def test_older_spellings_and_references_into_the_document_lead_to_flat_definitions(self, dialect: Dialect) -> None:
        tool = {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "type": "object",
            "properties": {
                "a": {"$ref": "#/definitions/unit"},
                "b": {"$ref": "#/properties/c"},
                "c": {"type": "integer"},
            },
            "definitions": {"unit": {"enum": ["m", "km"]}, "unused": {"type": "null"}},
            "required": ["a", "b", "c"],
        }
        for rung in dialect.rungs:
            lowered = lower(composer([("t", tool)])(rung.references), dialect, rung)
            assert sorted(lowered.schema["$defs"].keys() - {"ref"}) == ["c", "unit"]
            assert "$schema" not in str(lowered.schema)
            assert "definitions" not in str(lowered.schema)
            assert lowered.problems == ()

    def test_what_is_said_beside_a_reference_is_said_at_its_place(self) -> None:
        unit = {"type": "string", "enum": ["m", "km"], "description": "A unit."}
        lowered = lower_parameter(
            {"$ref": "#/$defs/unit", "description": "The unit of p."}, OPENAI, definitions={"unit": unit}
        )
        assert wire(lowered) == {"type": "string", "enum": ["m", "km"], "description": "The unit of p."}
        assert "$defs" not in lowered.schema

    def test_a_reference_to_nothing_is_a_problem_and_not_an_error(self) -> None:
        lowered = lower_parameter({"$ref": "#/$defs/nowhere"}, OPENAI)
        assert lowered.problems == (
            "#/properties/calls/items/properties/p: refers to '#/$defs/nowhere', which does not exist",
        )
        assert lower_parameter({"$ref": "#/$defs/nowhere"}, OPENAI, PROMPTED).problems == ()

    def test_copies_beside_references_stay_within_a_budget(self) -> None:
        definitions: Json = {"d0": {"type": "null"}}
        for number in range(1, 30):
            both = {"$ref": f"#/$defs/d{number - 1}", "description": str(number)}
            definitions[f"d{number}"] = {"type": "object", "properties": {"a": both, "b": both}}
        lowered = lower_parameter({"$ref": "#/$defs/d29", "description": "top"}, OPENAI, definitions=definitions)
        assert len(str(lowered.schema)) < 2_000_000


class TestLimits:
    @pytest.mark.parametrize(
        ("schema", "problem"),
        [
            ({"enum": [f"v{n}" for n in range(1200)]}, "1200 enum values in all, limit 1000"),
            ({"enum": ["v" * 100 + str(n) for n in range(300)]}, "characters in one enum, limit 15000"),
            (
                {"type": "object", "properties": {f"n{n}": {"type": "null"} for n in range(5000)}},
                "5010 properties in all, limit 5000",
            ),
        ],
    )
    def test_a_limit_is_named_with_the_place_the_number_and_the_limit(self, schema: Json, problem: str) -> None:
        lowered = lower_parameter(schema, OPENAI)
        (message,) = [text for text in lowered.problems if problem in text]
        assert message.startswith("#/properties/calls/items/properties/p")

    def test_deep_nesting_is_counted_through_definitions(self) -> None:
        schema: Json = {"type": "string"}
        for _ in range(9):
            schema = {"type": "object", "properties": {"a": schema}, "required": ["a"]}
        lowered = lower_parameter({"$ref": "#/$defs/deep"}, OPENAI, definitions={"deep": schema})
        assert "12 levels of nesting, limit 10" in lowered.problems[0]


class TestLadder:
    def test_without_a_dialect_the_schema_stays_as_it_is(self) -> None:
        composed = compose([call("t", {"properties": {"p": {"type": "integer"}}})])
        lowered = choose(lambda _: composed, None)
        assert lowered.schema is composed
        assert (lowered.rung, lowered.notes, lowered.problems) == (None, (), ())
        assert lowered.restore_call({"_tool": "t", "p": None}) == {"_tool": "t", "p": None}

    @every_dialect
    def test_the_first_rung_is_taken_and_beneath_it_the_next(self, dialect: Dialect) -> None:
        compose_tool = composer([("t", {"properties": {"p": {"type": "integer"}}})])
        rungs: list[Rung] = []
        lowered = choose(compose_tool, dialect)
        while lowered.rung is not None and lowered.rung not in rungs:
            rungs.append(lowered.rung)
            lowered = choose(compose_tool, dialect, below=lowered.rung)
        assert tuple(rungs) == dialect.rungs

    def test_a_rung_composes_only_the_form_that_it_needs(self) -> None:
        forms: list[str] = []

        def composed(references: Literal["wide", "aside"]) -> dict[str, Json]:
            forms.append(references)
            return compose([call("t", {}, references)])

        choose(composed, OPENAI)
        assert forms == ["wide"]

    @every_dialect
    def test_the_last_rung_takes_every_schema(self, dialect: Dialect) -> None:
        odd: Json = {
            "type": "object",
            "patternProperties": {"^x": {}},
            "not": {"required": ["y"]},
            "allOf": [{"minProperties": 1}],
        }
        lowered = lower_parameter(odd, dialect, PROMPTED)
        assert lowered.problems == ()
        assert wire(lowered)["anyOf"][0] == odd

    def test_what_is_not_enforced_is_sent_as_it_was_written(self) -> None:
        lowered = lower_parameter(
            {"type": ["array", "null"], "oneOf": [{"minItems": 1}, {"type": "null"}]}, OPENAI, LOOSE
        )
        assert wire(lowered)["anyOf"][0] == {"type": ["array", "null"], "oneOf": [{"minItems": 1}, {"type": "null"}]}
        # A list without `items` is refused even where nothing is enforced.
        assert lower_parameter({"type": "array"}, OPENAI, PROMPTED).schema["properties"]["calls"]["items"][
            "properties"
        ]["p"] == {"anyOf": [{"type": "array", "items": {}}, WIRE_REFERENCE]}


def _in_a_list(schema: Json) -> Json:
    for _ in range(30):
        schema = {"type": "array", "items": schema}
    return schema


# A definition's place in a chain: how it refers to the next.
CHAINS: dict[str, Callable[[Json], Json]] = {
    "a reference": lambda following: following,
    "a word beside it": lambda following: {**following, "description": "the next"},
    "a part of allOf": lambda following: {"allOf": [following, {"minProperties": 1}]},
    "deep inside": lambda following: _in_a_list({**following, "minItems": 1}),
}


class TestHostile:
    @every_dialect
    @pytest.mark.parametrize("rung", spread([ASIDE, LOOSE], least=1), ids=lambda rung: rung.name)
    @pytest.mark.parametrize("link", CHAINS)
    def test_a_chain_of_definitions_is_followed_without_recursing_as_deep(
        self, link: str, rung: Rung, dialect: Dialect
    ) -> None:
        length = 400
        chain: Json = {
            f"d{n}": {"type": "object", "properties": {"x": CHAINS[link]({"$ref": f"#/$defs/d{n + 1}"})}}
            for n in range(length)
        }
        chain[f"d{length}"] = {"type": "object", "properties": {"end": {"type": "string"}}}
        lowered = lower_parameter({"$ref": "#/$defs/d0"}, dialect, rung, definitions=chain)
        assert lowered.problems or '"end"' in json.dumps(lowered.schema)

    @every_dialect
    @pytest.mark.parametrize("rung", [ASIDE, LOOSE], ids=lambda rung: rung.name)
    @pytest.mark.parametrize("keyword", ["anyOf", "allOf", "not", "items"])
    def test_a_schema_as_deep_as_any_may_be_still_nests_when_it_is_composed(
        self, keyword: str, rung: Rung, dialect: Dialect
    ) -> None:
        schema: Json = {"type": "array", "items": {"type": "null"}}
        for _ in range(60 if keyword.endswith("Of") else 120):
            schema = {keyword: [schema]} if keyword.endswith("Of") else {"type": "array", keyword: schema}
        assert lower_parameter(schema, dialect, rung).schema["properties"].keys() == {"calls", "output", "meta"}
