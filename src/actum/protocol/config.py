"""How requests are made, and what a run may spend: two frozen values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from ..errors import SchemaError

_SWITCHES = (
    "meta", "paths", "reasoning", "flow", "shapes", "readers", "sealed", "upfront", "instanced_output",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """Every field has a default that is right for most.

    `meta` asks for the identity of the Idea, None only where the request has one (T5); `reasoning` for a reason with
    every call (T7). `flow` offers conditions, lists, order and computed values (T16), `paths` an output path for every
    call, None only where the context holds data (T8), `shapes` tells what tools return (T13). `readers` offers the
    reader where a result may be prose; `reader` is the model that carries it out, or its name, None the run's own
    (D18). `sealed` keeps what calls bring from the model that plans (S10). `upfront` resolves delegates before
    composition (D8). `retries` is how often an unusable answer is asked for again (L3), `instanced_output` asks for one
    output per instance (I4), `mode` "lazy" only plans (P2). `settings` go to the model as they are. `tool_budget` is
    how many tokens, roughly, tools' schemas may take before only their names are offered (T12). `references` is the
    form of references in the composed schema, None leaves it to the model's profile (T9). `parallel` is how many calls
    run at once; `drain` how many seconds a run waits at its end for calls that nothing waits for (C8). `tools` are the
    names of the registered tools that are offered, None for all of them; a delegate is offered none but those that its
    own config names. `allow_hosts`, `grants`, `max_delegate_bytes` and `max_depth` bound delegates (D10, D12);
    `max_media_bytes` all images, audio and files of a run together, each counted once (M10).
    """

    meta: bool | None = None
    reasoning: bool = False
    flow: bool = True
    paths: bool | None = None
    shapes: bool = True
    readers: bool = True
    reader: Any = None
    sealed: bool = False
    upfront: bool = False
    retries: int = 2
    instanced_output: bool = False
    mode: Literal["eager", "lazy"] = "eager"
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    tool_budget: int = 16_000
    references: Literal["wide", "aside"] | None = None
    parallel: int = 1_000
    drain: float = 10.0
    tools: Sequence[str] | None = None
    allow_hosts: Sequence[str] = ()
    grants: Sequence[str] = ()
    max_delegate_bytes: int = 1_000_000
    max_depth: int = 8
    max_media_bytes: int = 20_000_000

    def __post_init__(self) -> None:
        if self.mode not in ("eager", "lazy"):
            raise SchemaError(f"mode must be eager or lazy, not {self.mode!r}", path="config.mode")
        if self.references not in ("wide", "aside", None):
            raise SchemaError(
                f"references must be wide, aside or None, not {self.references!r}", path="config.references"
            )
        for name in ("retries", "tool_budget", "parallel", "max_delegate_bytes", "max_depth", "max_media_bytes"):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < (1 if name == "parallel" else 0):
                raise SchemaError(f"{name} must be a whole number, not {value!r}", path=f"config.{name}")
        for name in (
            "meta",
            "paths",
            "reasoning",
            "flow",
            "shapes",
            "readers",
            "sealed",
            "upfront",
            "instanced_output",
        ):
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
        if not isinstance(self.settings, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance] -- it may come from a file
            raise SchemaError(f"settings must be an object, not {self.settings!r}", path="config.settings")
        if isinstance(self.drain, bool) or not isinstance(self.drain, int | float) or not self.drain >= 0:  # pyright: ignore[reportUnnecessaryIsInstance] -- as above
            raise SchemaError(f"drain must be a number of seconds, not {self.drain!r}", path="config.drain")


def _is_model(value: object) -> bool:
    """Whether a value can be asked: models are known further up, and by what they do."""
    return callable(getattr(value, "stream", None))


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds of one run, its delegates included; None bounds nothing.

    `requests` to the model, `calls` started, `seconds` of wall time, `tokens` in and out, `usd` of money, `depth` of
    delegates. A count or price that the model does not tell is not counted.
    """

    requests: int | None = 50
    calls: int | None = None
    seconds: float | None = None
    tokens: int | None = None
    usd: float | None = None
    depth: int | None = None

    def __post_init__(self) -> None:
        for name in ("requests", "calls", "seconds", "tokens", "usd", "depth"):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int | float) or value < 0):
                raise SchemaError(
                    f"{name} must be a number that is not negative, or None; not {value!r}", path=f"limits.{name}"
                )
