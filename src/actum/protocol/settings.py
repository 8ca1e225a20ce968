"""What a model is asked to go by: one table of settings for all providers, typed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, TypeAlias

from ..errors import SchemaError
from ..schema.naming import instead, names_nearest
from .accepted import NUMBER, OBJECT, Accepted, check_fields, choice, whole_from

Thinking: TypeAlias = bool | Literal["minimal", "low", "medium", "high", "xhigh", "max"]
Caching: TypeAlias = Literal["auto", False, "5m", "30m", "1h", "12h"]
Tier: TypeAlias = Literal["default", "flex", "priority"]


def _one_of(*values: object) -> Accepted:
    return choice(f"one of {', '.join(map(repr, values))}", *values)


def _of_texts(value: Any) -> bool:
    return isinstance(value, Mapping) and all(isinstance(one, str) for one in value.values())  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]


def _are_texts(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(one, str) for one in value)  # pyright: ignore[reportUnknownVariableType]


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
"""What providers and other libraries call some of them."""


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
        value = getattr(self, name, None) if name in NAMES else None
        if value is None:
            raise KeyError(name)
        return value

    def __iter__(self) -> Iterator[str]:
        return (name for name in NAMES if getattr(self, name) is not None)

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
        given: Mapping[str, Any] = dict(told)  # pyright: ignore[reportUnknownArgumentType] -- judged here
        for name in given:
            if name not in NAMES:
                meant = _ELSEWHERE.get(str(name).removeprefix("openai_").removeprefix("anthropic_"))
                hint = f"did you mean {meant!r}?" if meant else instead(str(name), NAMES)
                raise SchemaError(f"no setting {name!r}; {hint}", path=f"config.settings.{name}")
        return cls(**given)


NAMES = tuple(one.name for one in fields(Settings))
"""All settings, by name."""
