"""What each provider's structured output accepts, as data (T9), and the ladder of ways to send a schema. No behaviour.

Every limit says where it is published. The walks read these values; another provider is another value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Rung:
    """One way to send a schema: how references are offered (T9) and how the schema is imposed.

    `strict` is enforced by the provider's decoder, `loose` a native schema that it does not enforce, `prompted` none
    on the wire: the messages state it. Below each of them answers are validated here and asked for again (L3).
    """

    name: str
    references: Literal["wide", "aside"]
    mode: Literal["strict", "loose", "prompted"]


STRICT = Rung(name="strict", references="wide", mode="strict")
ASIDE = Rung(name="aside", references="aside", mode="strict")
LOOSE = Rung(name="loose", references="wide", mode="loose")
PROMPTED = Rung(name="prompted", references="wide", mode="prompted")

LADDER = (STRICT, ASIDE, LOOSE, PROMPTED)
"""From the firmest hold to the one that every model takes."""


def above(rung: Rung | None) -> Rung | None:
    """The rung whose hold is one step firmer; None where there is none."""
    at = 0 if rung is None else LADDER.index(rung)
    return LADDER[at - 1] if at else None


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeLimits:
    """The most that one strict schema may hold; None if the provider publishes no number.

    `names` counts the characters of property and definition names, enum and const values; `large_enum` those of one
    enum of more than 250 strings; `optional` properties that are not required; `unions` every `anyOf`.
    """

    properties: int | None = None
    depth: int | None = None
    names: int | None = None
    enum_values: int | None = None
    large_enum: int | None = None
    optional: int | None = None
    unions: int | None = None


Keywords = Mapping[str, frozenset[str]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Dialect:
    """What one provider's strict mode accepts of JSON Schema, and the rungs it has.

    `keywords`: by type, the assertions it takes beyond the structure; all others are checked here.
    `caps`: the greatest value it takes for one. `formats`, `patterns`, `const`, `literals` (types that an `enum` may
    list): what the words say. `patterns` are none, `plain` (no look-around, no back-references, no `\\b`) or
    `anchored` (plain, from `^` to `$`, and unable to match what ends a JSON string).
    `closed`: objects list all their properties; maps travel as lists of their entries. `all_required`: and each of
    them is required, an optional one may be null. `untyped`: a schema may leave the type open.
    `recursion`: taken, refused, or taken inside optional properties only.
    `type_lists`: a union of scalars is taken as one schema with a list of types.
    `shows_schema`: False where the schema steers the decoder but is not shown to the model. `is_guess`: that hosts
    enforce it is believed until an answer disproves it.
    """

    name: str
    rungs: tuple[Rung, ...] = LADDER
    keywords: Keywords = field(default_factory=lambda: MappingProxyType({}))
    caps: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    formats: frozenset[str] = frozenset()
    patterns: Literal["none", "plain", "anchored"] = "none"
    literals: frozenset[str] = frozenset({"string", "number", "integer"})
    const: bool = True
    closed: bool = True
    all_required: bool = False
    untyped: bool = False
    recursion: Literal["taken", "optional", "refused"] = "taken"
    limits: SizeLimits = SizeLimits()
    type_lists: bool = False
    shows_schema: bool = True
    is_guess: bool = False


def _keywords(**by_type: str) -> Keywords:
    return MappingProxyType({kind: frozenset(words.split()) for kind, words in by_type.items()})


SCALARS = frozenset({"string", "number", "integer", "boolean", "null"})
_BOUNDS = "minimum maximum exclusiveMinimum exclusiveMaximum"

OPENAI = Dialect(
    name="openai",
    # https://platform.openai.com/docs/guides/structured-outputs#supported-schemas: "Supported properties". String
    # lengths are not on that list; `allOf`, `not`, `if`, `dependent*` are named there as not supported.
    keywords=_keywords(
        string="pattern format",
        number=f"{_BOUNDS} multipleOf",
        integer=f"{_BOUNDS} multipleOf",
        array="minItems maxItems",
    ),
    formats=frozenset({"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}),
    patterns="plain",
    literals=SCALARS,
    # "additionalProperties: false must always be set in objects", "all fields must be required".
    all_required=True,
    # "a union type with null": what `zodResponseFormat` of OpenAI's own SDK makes of a union of scalars, too.
    type_lists=True,
    # The same page: 5,000 properties, 10 levels, 120,000 characters of names and values, 1,000 enum values, and
    # 15,000 characters in an enum of more than 250 strings. "Recursive schemas are supported."
    limits=SizeLimits(properties=5000, depth=10, names=120_000, enum_values=1000, large_enum=15_000),
)

ANTHROPIC = Dialect(
    name="anthropic",
    # https://platform.claude.com/docs/en/build-with-claude/structured-outputs#json-schema-limitations: no numeric and
    # no length bounds, "array constraints beyond minItems of 0 or 1" and recursion are not supported; `pattern`
    # without look-around, back-references and word boundaries is. The formats are those of the SDK's
    # `lib/_parse/_transform.py`, which also moves what is refused into the description.
    keywords=_keywords(string="pattern format", array="minItems"),
    caps=MappingProxyType({"minItems": 1}),
    formats=frozenset(
        {"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"},
    ),
    patterns="plain",
    literals=SCALARS,
    recursion="refused",
    # "Parameters that use anyOf or type arrays" are counted, and so taken.
    type_lists=True,
    # The same page, "Schema complexity limits": 24 optional parameters and 16 with a union type over all strict
    # schemas of a request. A grammar can be "too large" below them (anthropic-sdk-python#1185): then one rung down.
    limits=SizeLimits(optional=24, unions=16),
)

GOOGLE = Dialect(
    name="google",
    # Gemini enforces every schema that it is sent: `responseJsonSchema` is all or nothing.
    rungs=(STRICT, ASIDE, PROMPTED),
    # https://ai.google.dev/api/generate-content#generationconfig (`responseJsonSchema`, and the docstring of
    # google-genai's `response_json_schema`): the supported keywords, by name; `enum` "for strings and numbers"; no
    # `const`, no `pattern`, nothing beside `$ref`; cycles "within non-required properties" only. `exclusiveMinimum`
    # fails the request (linxule/pizza-bot#62); `maxItems` is listed, but alone was a 400 (openinterviewer#23).
    keywords=_keywords(string="format", number="minimum maximum", integer="minimum maximum", array="minItems"),
    formats=frozenset({"date-time", "date", "time"}),
    const=False,
    closed=False,
    recursion="optional",
)

GRAMMAR = Dialect(
    name="grammar",
    # llama.cpp, xgrammar (vLLM, SGLang) and llguidance take a schema or fail; none has an unenforced one.
    rungs=(STRICT, ASIDE, PROMPTED),
    # What all of them keep: https://github.com/ggml-org/llama.cpp/blob/master/grammars/README.md#json-schemas--gbnf
    # (bounds of integers only; prefixItems broken; unsupported keywords skipped in silence) and vLLM's
    # `has_xgrammar_unsupported_json_features` (multipleOf, uniqueItems, contains, propertyNames, a length beside a
    # pattern or format are refused).
    keywords=_keywords(
        string="pattern format minLength maxLength", integer="minimum maximum", array="minItems maxItems"
    ),
    # llama.cpp refuses a rule that repeats 2,000 rules (MAX_REPETITION_THRESHOLD in llama-grammar.cpp); an item is
    # several rules.
    caps=MappingProxyType({"minLength": 1000, "maxLength": 1000, "minItems": 256, "maxItems": 256}),
    formats=frozenset({"date-time", "date", "time", "uuid"}),
    patterns="anchored",
    literals=SCALARS | {"object", "array"},
    closed=False,
    untyped=True,
    # "The JSON schema is only used to constrain the model output and is not injected into the prompt" (ibid.).
    shows_schema=False,
    is_guess=True,
)

COMPATIBLE = Dialect(
    name="compatible",
    # A host that speaks OpenAI's wire and documents no more: OpenAI's structure, and no assertion that one of them
    # might refuse. Where it refuses even that, the next rung is tried (`below`).
    keywords=_keywords(string="pattern"),
    patterns="anchored",
    literals=SCALARS,
    all_required=True,
    type_lists=True,
    recursion="refused",
    limits=OPENAI.limits,
    is_guess=True,
)

PROMPTED_ONLY = Dialect(
    name="prompted",
    # A host that takes no schema: it is told in words, and every answer is judged here.
    rungs=(PROMPTED,),
    literals=SCALARS | {"object", "array"},
    closed=False,
    untyped=True,
    shows_schema=False,
)

DIALECTS: dict[str, Dialect] = {dialect.name: dialect for dialect in (OPENAI, ANTHROPIC, GOOGLE, GRAMMAR, COMPATIBLE)}
"""The dialects that enforce a schema, by name."""
