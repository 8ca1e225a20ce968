"""How requests are made, and what a run may spend: two frozen values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from ..errors import SchemaError
from ..schema.json import is_list
from ..schema.naming import names_nearest
from .settings import Settings

_SWITCHES = (
    "meta", "paths", "reasoning", "flow", "shapes", "readers", "sealed", "upfront", "instanced_output",
)  # fmt: skip
_COUNTS = ("retries", "tool_budget", "parallel", "max_delegate_bytes", "max_depth", "max_media_bytes")
_CHOICES: Mapping[str, tuple[Sequence[object], str]] = {
    "mode": (("eager", "lazy"), "eager or lazy"),
    "references": (("wide", "aside", None), "wide, aside or None"),
    "repair": ((False, True, "always"), "true, false or always"),
}


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
        for name, (taken, choices) in _CHOICES.items():
            if (value := getattr(self, name)) not in taken:
                raise SchemaError(f"{name} must be {choices}, not {value!r}", path=f"config.{name}")
        for name in _COUNTS:
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < (1 if name == "parallel" else 0):
                raise SchemaError(f"{name} must be a whole number, not {value!r}", path=f"config.{name}")
        for name in _SWITCHES:
            value, may_be_none = getattr(self, name), name in ("meta", "paths")
            if not isinstance(value, bool) and not (may_be_none and value is None):
                choices = "true, false or null" if may_be_none else "true or false"
                raise SchemaError(f"{name} must be {choices}, not {value!r}", path=f"config.{name}")
        if (
            self.reader is not None
            and not (isinstance(self.reader, str) and self.reader)
            and not _is_model(self.reader)
        ):
            raise SchemaError(f"reader must be a model or its name, not {self.reader!r}", path="config.reader")
        for name in ("allow_hosts", "grants", "tools"):
            value = getattr(self, name)
            if isinstance(value, str) or not isinstance(value, Sequence | None) or (value is None and name != "tools"):
                raise SchemaError(f"{name} must be a list, not {value!r}", path=f"config.{name}")
        if not isinstance(self.spread, bool):
            _check_names(self.spread, "spread", "true, false or a list of tools")
        object.__setattr__(self, "settings", Settings.of(self.settings))
        if isinstance(self.drain, bool) or not isinstance(self.drain, int | float) or not self.drain >= 0:  # pyright: ignore[reportUnnecessaryIsInstance] -- as above
            raise SchemaError(f"drain must be a number of seconds, not {self.drain!r}", path="config.drain")


def _check_names(value: object, name: str, what: str) -> None:
    if not is_list(value) or not all(isinstance(one, str) for one in value):
        raise SchemaError(f"{name} must be {what}, not {value!r}", path=f"config.{name}")


def _is_model(value: object) -> bool:
    """Whether a value can be asked: models are known further up, and by what they do."""
    return callable(getattr(value, "stream", None))


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
        for name in ("requests", "calls", "seconds", "tokens", "usd", "depth", "bytes"):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0):
                raise SchemaError(
                    f"{name} must be a number that is not negative, or None; not {value!r}", path=f"limits.{name}"
                )
            if value is not None and name not in {"seconds", "usd"} and value != value // 1:
                raise SchemaError(f"{name} must be a whole number, or None; not {value!r}", path=f"limits.{name}")

    def narrowed(self, by: Mapping[str, Any]) -> Limits:
        """These limits, where the others are narrower, those: nothing that is said here is widened.

        Raises:
            SchemaError: one of the others is none.
        """
        others = Limits(**by)
        least: dict[str, Any] = {}
        for name in by:
            values = [value for value in (getattr(self, name), getattr(others, name)) if value is not None]
            least[name] = min(values, default=None)
        return replace(self, **least)
