"""How requests are made, what a model is asked to go by, what a run may spend: frozen values, and what each may be."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from typing import Any, Literal, NamedTuple, TypeAlias

from ..errors import SchemaError
from ..schema.json import is_object, is_text
from ..schema.quoting import instead, names_nearest


@dataclass(frozen=True, slots=True)
class Accepted:
    """The accepted values: a description for messages, and a test."""

    words: str
    takes: Callable[[Any], bool]
    items: Callable[[Any], bool] | None = None
    """The test of a list's items, where lists are accepted."""


def is_whole_within(value: Any, least: float = 0, most: float = math.inf) -> bool:
    """Whether a value is a whole number within bounds."""
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def is_number_within(value: Any, least: float = 0, most: float = math.inf) -> bool:
    """Whether a value is a number within bounds, which NaN is not."""
    return isinstance(value, int | float) and not isinstance(value, bool) and least <= value <= most


def is_above_zero(value: Any) -> bool:
    """Whether a value is a finite number above zero."""
    return is_number_within(value) and 0 < value < math.inf


def whole_from(least: int = 0) -> Accepted:
    """Whole numbers from this one."""
    return Accepted("a whole number", lambda value: is_whole_within(value, least))


def choice(words: str, *values: object) -> Accepted:
    """These values and no others."""
    return Accepted(
        words, lambda value: any(value is item or (isinstance(value, str) and value == item) for item in values)
    )


def perhaps(words: str, accepted: Accepted) -> Accepted:
    """The same, or None."""
    return Accepted(words, lambda value: value is None or accepted.takes(value), accepted.items)


def _is_sequence(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


SWITCH = choice("true or false", True, False)
OBJECT = Accepted("an object", lambda value: isinstance(value, Mapping))
NUMBER = Accepted("a number that is not negative", is_number_within)
NAMES = Accepted("a list of names", _is_sequence, is_text)


def check_fields(values: Mapping[str, Any], accepted: Mapping[str, Accepted], where: str) -> None:
    """Judge values by name; unknown names are ignored.

    Raises:
        SchemaError: naming the first that isn't taken, or its item, below `where`.
    """
    for name, value in values.items():
        known = accepted.get(name)
        if known is None:
            continue
        if not known.takes(value):
            raise SchemaError(f"{name} must be {known.words}, not {value!r}", path=f"{where}.{name}")
        if known.items is None or not _is_sequence(value):
            continue
        for index, item in enumerate(value):
            if not known.items(item):
                wrong = f"{name} must be {known.words}: {item!r} is not one"
                raise SchemaError(wrong, path=f"{where}.{name}.{index}")


Thinking: TypeAlias = bool | Literal["minimal", "low", "medium", "high", "xhigh", "max"]
Caching: TypeAlias = Literal["auto", False, "5m", "30m", "1h", "12h"]
"""How long a provider keeps what requests share; False for not at all."""
Tier: TypeAlias = Literal["default", "flex", "priority"]
"""How fast a provider answers, and at which price."""


def _one_of(*values: object) -> Accepted:
    return choice(f"one of {', '.join(map(repr, values))}", *values)


def _of_texts(value: Any) -> bool:
    return isinstance(value, Mapping) and all(isinstance(text, str) for text in value.values())  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]


def _are_texts(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(text, str) for text in value)  # pyright: ignore[reportUnknownVariableType]


_ACCEPTED: Mapping[str, Accepted] = {
    "thinking": _one_of(True, False, "minimal", "low", "medium", "high", "xhigh", "max"),
    "cache": _one_of("auto", False, "5m", "30m", "1h", "12h"),
    "tier": _one_of("default", "flex", "priority"),
    "temperature": NUMBER,
    "top_p": NUMBER,
    "max_tokens": whole_from(1),
    "stop": Accepted("a list of texts", _are_texts),
    "seed": whole_from(),
    "timeout": NUMBER,
    "headers": Accepted("an object of texts", _of_texts),
    "extra": OBJECT,
}
_ELSEWHERE: Mapping[str, str] = {
    "service_tier": "tier",
    "stop_sequences": "stop",
    "extra_body": "extra",
    "extra_headers": "headers",
    "max_completion_tokens": "max_tokens",
    "max_output_tokens": "max_tokens",
    "reasoning_effort": "thinking",
}
"""The names that providers and other libraries have for some of them."""


@names_nearest
@dataclass(frozen=True, kw_only=True, eq=False)
class Settings(Mapping[str, Any]):
    """What a model is asked to go by. As a mapping it holds what is said; what isn't is the provider's to choose.

    Which of them a provider takes, `actum check` says; what only one host knows goes in `extra`.
    """

    thinking: Thinking | None = None
    """Whether, or how much, the model thinks before it answers."""
    cache: Caching | None = None
    """How long the provider keeps what requests begin with; "auto", as None, pays for it only where it is read again,
    False asks for nothing."""
    tier: Tier | None = None
    """Which of a provider's tiers serves the request: "flex" is cheaper and slower, "priority" the opposite."""
    temperature: float | None = None
    """How much chance there is in the answer; 0 for least."""
    top_p: float | None = None
    """The share of likely tokens that are chosen from, up to 1; an alternative to `temperature`."""
    max_tokens: int | None = None
    """How many tokens an answer may have; one that is cut there is a `ModelError` with the code `model_truncated`."""
    stop: Sequence[str] | None = None
    """Texts at which the answer ends."""
    seed: int | None = None
    """What makes answers more alike where all else is the same."""
    timeout: float | None = None
    """The longest silence, in seconds, before the request fails."""
    headers: Mapping[str, str] | None = None
    """HTTP headers that go along."""
    extra: Mapping[str, Any] | None = None
    """Fields of the request's body as the host has them, sent as they are, for example {"min_p": 0.05}."""

    def __post_init__(self) -> None:
        check_fields(self, _ACCEPTED, "config.settings")

    def __getitem__(self, name: str) -> Any:
        value = getattr(self, name, None) if name in SETTINGS else None
        if value is None:
            raise KeyError(name)
        return value

    def __iter__(self) -> Iterator[str]:
        return (name for name in SETTINGS if getattr(self, name) is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    @classmethod
    def of(cls, told: object) -> Settings:
        """The settings in a mapping, as an Idea's config has them.

        Raises:
            SchemaError: one is unknown or can't be so; naming the near one.
        """
        if isinstance(told, Settings):
            return told
        if not isinstance(told, Mapping):
            raise SchemaError(f"settings must be an object, not {told!r}", path="config.settings")
        settings: Mapping[str, Any] = dict(told)  # pyright: ignore[reportUnknownArgumentType] -- judged here
        for name in settings:
            if name not in SETTINGS:
                meant = _ELSEWHERE.get(str(name).removeprefix("openai_").removeprefix("anthropic_"))
                hint = f"did you mean {meant!r}?" if meant else instead(str(name), SETTINGS)
                raise SchemaError(f"no setting {name!r}; {hint}", path=f"config.settings.{name}")
        return cls(**settings)


SETTINGS = tuple(setting.name for setting in fields(Settings))
"""The names of all settings."""


Standing: TypeAlias = Literal["own", "local", "foreign"]
"""Whose config it is: one's own Idea's, that of a caller's delegate, or a stranger's."""
Weight: TypeAlias = Literal["counts", "by grant", "no"]


class Weights(NamedTuple):
    """For whom a field of an Idea's config counts."""

    own: Weight
    local: Weight
    foreign: Weight


@dataclass(frozen=True, slots=True)
class ConfigField:
    """A field of a config: what it may be, and for whom it counts where an Idea says it."""

    accepted: Accepted
    weights: Weights


_SHAPES = Weights("counts", "counts", "counts")
"""What a request looks like; such fields reach nothing and bound nothing."""
_NAMES = Weights("counts", "counts", "by grant")
"""Names that are looked up on this machine."""
_ASKS = Weights("counts", "counts", "no")
"""How the model is asked, which determines the cost."""
_BOUNDS = Weights("counts", "no", "no")
"""What a run may reach and spend; a delegate has its caller's bounds."""


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _is_model(value: Any) -> bool:
    """Whether a value is a model; the layers above know their classes, so this looks for `stream`."""
    return callable(getattr(value, "stream", None))


def _of_text_or_list(words: str) -> Accepted:
    return Accepted(words, lambda value: isinstance(value, str | list), lambda item: isinstance(item, str))


_PERHAPS_SWITCH = perhaps("true, false or null", SWITCH)
FIELDS: Mapping[str, ConfigField] = {
    "meta": ConfigField(_PERHAPS_SWITCH, _SHAPES),
    "reasoning": ConfigField(SWITCH, _SHAPES),
    "flow": ConfigField(SWITCH, _SHAPES),
    "paths": ConfigField(_PERHAPS_SWITCH, _SHAPES),
    "shapes": ConfigField(SWITCH, _SHAPES),
    "readers": ConfigField(SWITCH, _SHAPES),
    "instanced_output": ConfigField(SWITCH, _SHAPES),
    "sealed": ConfigField(SWITCH, _SHAPES),
    "tools": ConfigField(perhaps("a list of names", NAMES), _NAMES),
    "activities": ConfigField(_of_text_or_list("a list of names of modules or files"), _NAMES),
    "model": ConfigField(
        Accepted("a name, for example openai:gpt-5.2", lambda value: value is None or _is_name(value)), _NAMES
    ),
    "reader": ConfigField(
        Accepted("a model or its name", lambda value: value is None or _is_name(value) or _is_model(value)), _NAMES
    ),
    "upfront": ConfigField(SWITCH, _ASKS),
    "retries": ConfigField(whole_from(), _ASKS),
    "repair": ConfigField(choice("true, false or always", False, True, "always"), _ASKS),
    "mode": ConfigField(choice("eager or lazy", "eager", "lazy"), _ASKS),
    "settings": ConfigField(OBJECT, _ASKS),
    "tool_budget": ConfigField(whole_from(), _ASKS),
    "references": ConfigField(choice("wide, aside or None", "wide", "aside", None), _ASKS),
    "spread": ConfigField(
        Accepted(
            "true, false or a list of tools", lambda value: isinstance(value, bool) or NAMES.takes(value), NAMES.items
        ),
        _ASKS,
    ),
    "parallel": ConfigField(whole_from(1), _BOUNDS),
    "drain": ConfigField(Accepted("a number of seconds", is_number_within), _BOUNDS),
    "allow_hosts": ConfigField(NAMES, _BOUNDS),
    "grants": ConfigField(NAMES, _BOUNDS),
    "max_delegate_bytes": ConfigField(whole_from(), _BOUNDS),
    "max_depth": ConfigField(whole_from(), _BOUNDS),
    "max_media_bytes": ConfigField(whole_from(), _BOUNDS),
    "limits": ConfigField(OBJECT, _BOUNDS),
    "origin": ConfigField(Accepted("the path of a file", lambda value: value is None or _is_name(value)), _BOUNDS),
    "servers": ConfigField(_of_text_or_list("a list of names of files"), _BOUNDS),
    "batch": ConfigField(Accepted("a number of seconds above zero", is_above_zero), _BOUNDS),
    "deps": ConfigField(Accepted("a name of what a worker makes", _is_name), _BOUNDS),
}
"""The fields of an Idea's config. What doesn't count is left to who runs the Idea.

`activities`, `model`, `limits`, `origin`, `servers`, `batch` and `deps` are an Idea's alone, the others are those of
`Config`.
"""
ACCEPTED = {name: field.accepted for name, field in FIELDS.items()}
"""The accepted values of each field."""


def _changed(options: Config | Limits) -> Mapping[str, Any]:
    """The fields that differ from their defaults."""
    defaults = _defaults(type(options))
    return {name: value for name in defaults if (value := getattr(options, name)) is not defaults[name]}


@cache
def _defaults(kind: type[Config | Limits]) -> Mapping[str, Any]:
    """The defaults of all fields by name, gathered once: limits are made for every run."""
    return {option.name: option.default for option in fields(kind)}


@names_nearest
@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """How requests are made. Every field has a default that is right for most."""

    meta: bool | None = None
    """Asks for the identity of the Idea; None only where the request has one."""
    reasoning: bool = False
    """Asks for a reason with every call."""
    flow: bool = True
    """Offers conditions, lists, order and computed values."""
    paths: bool | None = None
    """Offers an output path for every call; None only where the context holds data."""
    shapes: bool = True
    """Tells what tools return."""
    readers: bool = True
    """Offers the reader where a result may be prose."""
    reader: Any = None
    """The model that carries the reader out, or its name; None the run's own."""
    sealed: bool = False
    """Keeps what calls bring from the model that plans."""
    upfront: bool = False
    """Resolves delegates before composition, so that their schemas are a contract."""
    retries: int = 2
    """How often an unusable answer is asked for again."""
    repair: bool | Literal["always"] = False
    """Whether the model is asked to go on with a plan that no model wrote where that fails: as long as no effect of it
    has begun, or "always"; else the run ends with `PlanFailed`."""
    instanced_output: bool = False
    """Asks for one output per instance."""
    mode: Literal["eager", "lazy"] = "eager"
    """Whether calls are made as they arrive, or, "lazy", only planned."""
    settings: Mapping[str, Any] = field(default_factory=Settings)
    """What the model is asked to go by, for example `Settings(temperature=0)`; a dict of the same names will do."""
    tool_budget: int = 16_000
    """How many tokens, roughly, tools' schemas may take before only their names are offered."""
    references: Literal["wide", "aside"] | None = None
    """The form of references in the composed schema; None leaves it to the model's profile."""
    spread: bool | Sequence[str] = False
    """Has delegates and the items of an `_each` carried out as runs of their own, those of all tools or of these; where
    nobody keeps runs (`Runs`), the run carries them out itself."""
    parallel: int = 1_000
    """How many calls run at once."""
    drain: float = 10.0
    """How many seconds a run waits at its end for calls that nothing waits for."""
    tools: Sequence[str] | None = None
    """The names of the registered tools that are offered; None for all, for a delegate those that its config names."""
    allow_hosts: Sequence[str] = ()
    """Hosts that a delegate may be fetched from although their address is private."""
    grants: Sequence[str] = ()
    """Tools, Activities and models that a delegate from outside may use."""
    max_delegate_bytes: int = 1_000_000
    """How large a delegate may be that is fetched."""
    max_depth: int = 8
    """How deep delegates may call each other."""
    max_media_bytes: int = 20_000_000
    """How many bytes all images, audio and files of a run may have together, each counted once."""

    def __post_init__(self) -> None:
        check_fields(_changed(self), ACCEPTED, "config")
        object.__setattr__(self, "settings", Settings.of(self.settings))


@names_nearest
@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds of one run, its delegates included; None bounds nothing."""

    requests: int | None = 50
    """How many requests to the model."""
    calls: int | None = None
    """How many calls are started."""
    seconds: float | None = None
    """How long it takes, in seconds of wall time."""
    tokens: int | None = None
    """How many tokens in and out; those that a model does not tell are not counted."""
    usd: float | None = None
    """How much money, in US dollars; a price that is not known is not counted."""
    depth: int | None = None
    """How deep delegates may call each other."""
    bytes: int | None = 256 * 2**20
    """How large the values of the run would be, written out, whatever they share; each counts as 64 at least."""

    def __post_init__(self) -> None:
        check_fields(_changed(self), _LIMITS, "limits")

    @classmethod
    def of(cls, told: object) -> Limits:
        """The limits in a mapping, as an Idea's config has them.

        Raises:
            SchemaError: one is unknown or can't be so; naming the near one.
        """
        if not is_object(told):
            raise SchemaError(f"limits must be an object with {', '.join(_LIMITS)}", path="config.limits")
        if unknown := sorted(told.keys() - _LIMITS.keys()):
            wrong = f"'limits' has no {unknown[0]!r}; {instead(unknown[0], _LIMITS)}"
            raise SchemaError(wrong, path=f"config.limits.{unknown[0]}")
        return cls(**told)

    def narrowed(self, by: Mapping[str, Any]) -> Limits:
        """These limits, where the others are narrower, those: nothing that is said here is widened.

        Raises:
            SchemaError: one of the others is none.
        """
        bounds = Limits.of(by)
        least: dict[str, Any] = {}
        for name in by:
            values = [value for value in (getattr(self, name), getattr(bounds, name)) if value is not None]
            least[name] = min(values, default=None)
        return replace(self, **least)


_BOUND = perhaps("a number that is not negative, or None", NUMBER)
_COUNT = Accepted(
    "a whole number that is not negative, or None",
    lambda value: value is None or (is_number_within(value) and value == value // 1),
)
_LIMITS = {limit.name: _BOUND if limit.name in {"seconds", "usd"} else _COUNT for limit in fields(Limits)}
