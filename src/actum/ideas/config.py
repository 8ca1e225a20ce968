"""What an Idea's `config` means, once: for who runs it as their own, as a delegate, or from outside (D12, D15, X1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, NamedTuple, TypeAlias

from ..errors import IdeaError, SchemaError
from ..protocol.config import Config, Limits
from ..schema.json import JsonObject, is_list, is_object
from ..schema.naming import instead

Standing: TypeAlias = Literal["own", "local", "foreign"]
"""Whose an Idea is: run by its own user, the local delegate of a caller, or from outside (a URL)."""
Weight: TypeAlias = Literal["counts", "by grant", "no"]


class _Weights(NamedTuple):
    own: Weight
    local: Weight
    foreign: Weight


_SHAPES = _Weights("counts", "counts", "counts")
"""How a request reads; it reaches nothing and bounds nothing."""
_NAMES = _Weights("counts", "counts", "by grant")
"""What is looked up on this machine."""
_ASKS = _Weights("counts", "counts", "no")
"""How the model is asked, and so what it costs."""
_BOUNDS = _Weights("counts", "no", "no")
"""What a run may reach and spend: a delegate's is its caller's."""

WEIGHTS: Mapping[str, _Weights] = {
    "meta": _SHAPES,
    "reasoning": _SHAPES,
    "flow": _SHAPES,
    "paths": _SHAPES,
    "shapes": _SHAPES,
    "readers": _SHAPES,
    "instanced_output": _SHAPES,
    "sealed": _SHAPES,
    "tools": _NAMES,
    "activities": _NAMES,
    "model": _NAMES,
    "reader": _NAMES,
    "upfront": _ASKS,
    "retries": _ASKS,
    "repair": _ASKS,
    "mode": _ASKS,
    "settings": _ASKS,
    "tool_budget": _ASKS,
    "references": _ASKS,
    "spread": _ASKS,
    "parallel": _BOUNDS,
    "drain": _BOUNDS,
    "allow_hosts": _BOUNDS,
    "grants": _BOUNDS,
    "max_delegate_bytes": _BOUNDS,
    "max_depth": _BOUNDS,
    "max_media_bytes": _BOUNDS,
    "limits": _BOUNDS,
    "origin": _BOUNDS,
    "servers": _BOUNDS,
}
"""Which fields count for whom; what doesn't count is left to who runs the Idea."""

_OF_CONFIG = frozenset(one.name for one in fields(Config))
_INHERITED = tuple(name for name in WEIGHTS if name in _OF_CONFIG and WEIGHTS[name].local == "no")


@dataclass(frozen=True, slots=True, kw_only=True)
class IdeaConfig:
    """One `config`, judged. `fields` are those of `Config` that it says, the rest is None or empty if unsaid."""

    fields: Mapping[str, Any] = field(default_factory=dict[str, Any])
    model: str | None = None
    activities: tuple[str, ...] = ()
    limits: Limits | None = None
    origin: str | None = None
    servers: tuple[str, ...] = ()
    """Files of tool servers (MCP)."""

    @classmethod
    def parse(cls, config: object, name: str = "the Idea") -> IdeaConfig:
        """Read a `config`; `name` is what the Idea is called in messages, its file if that is known.

        Raises:
            IdeaError: naming the file and the field that is unknown, or has a value that it can't have.
        """
        if not is_object(config):
            raise IdeaError(f"{name}: 'config' must be an object")
        if unknown := sorted(config.keys() - WEIGHTS.keys()):
            raise _wrong(name, unknown[0], f"'config' has no {unknown[0]!r}; {instead(unknown[0], sorted(WEIGHTS))}")
        own = {key: value for key, value in config.items() if key in _OF_CONFIG}
        _judged(name, "config", lambda: Config(**own))
        for key in ("tools", "allow_hosts", "grants"):
            if own.get(key) is not None:
                _names(name, key, own[key])
        return cls(
            fields=own,
            model=_text(name, config, "model", "a name such as openai:gpt-5.2"),
            activities=_several(name, config, "activities", "names of modules or files"),
            servers=_several(name, config, "servers", "names of files"),
            limits=_limits(name, config["limits"]) if "limits" in config else None,
            origin=_text(name, config, "origin", "the path of a file"),
        )

    def of(self, standing: Standing) -> IdeaConfig:
        """What of it counts; what counts by grant is in it, too: see `asked`."""

        def counts(key: str) -> bool:
            return getattr(WEIGHTS[key], standing) != "no"

        return IdeaConfig(
            fields={key: value for key, value in self.fields.items() if counts(key)},
            model=self.model if counts("model") else None,
            activities=self.activities if counts("activities") else (),
            limits=self.limits if counts("limits") else None,
            origin=self.origin if counts("origin") else None,
            servers=self.servers if counts("servers") else (),
        )

    @property
    def asked(self) -> Sequence[str]:
        """The names in it that a delegate from outside must have been granted (D12)."""
        models = (self.model, self.fields.get("reader"))
        named = [*(self.fields.get("tools") or ()), *self.activities, *self.servers]
        return [*named, *(one for one in models if one is not None)]

    def over(self, config: Config) -> Config:
        """The other config with what this one says."""
        return replace(config, **self.fields)

    def below(self, caller: Config) -> Config:
        """How a delegate is run: as it says itself, within the bounds of its caller (D15).

        Settings belong to a model: those of the caller's are not for another one.
        """
        bounds: JsonObject = {name: getattr(caller, name) for name in _INHERITED}
        inherited: JsonObject = {"tools": ()} if self.model is not None else {"tools": (), "settings": caller.settings}
        whole: JsonObject = {**inherited, **self.fields, **bounds}
        if caller.sealed:
            whole["sealed"] = True  # what a sealed run has brought stays sealed below (S10)
        return Config(**whole)


def _wrong(name: str, key: str, reason: str) -> IdeaError:
    error = IdeaError(f"{name}: at config.{key}: {reason}")
    error.path = f"config.{key}"  # its message says where already
    return error


def _judged(name: str, path: str, make: Callable[[], object]) -> None:
    try:
        make()
    except SchemaError as error:
        found = IdeaError(f"{name}: {error.message}")
        found.path = error.path or path  # as above
        raise found from None


def _text(name: str, config: JsonObject, key: str, what: str) -> str | None:
    value = config.get(key)
    if value is not None and (not isinstance(value, str) or not value):
        raise _wrong(name, key, f"{key!r} must be {what}, not {value!r}")
    return value


def _names(name: str, key: str, value: object) -> Sequence[str]:
    for index, one in enumerate(value if is_list(value) else ()):
        if not isinstance(one, str):
            raise _wrong(name, f"{key}.{index}", f"{key!r} must be a list of names: {one!r} is not one")
    return value if is_list(value) else []


def _several(name: str, config: JsonObject, key: str, what: str) -> tuple[str, ...]:
    value: Any = config.get(key, [])
    if isinstance(value, str):
        return (value,)
    if not is_list(value):
        raise _wrong(name, key, f"{key!r} must be {what}, not {value!r}")
    return tuple(_names(name, key, value))


def _limits(name: str, value: object) -> Limits:
    known = [one.name for one in fields(Limits)]
    if not is_object(value):
        raise _wrong(name, "limits", f"'limits' must be an object with {', '.join(known)}")
    if unknown := sorted(value.keys() - set(known)):
        raise _wrong(name, f"limits.{unknown[0]}", f"'limits' has no {unknown[0]!r}; {instead(unknown[0], known)}")
    _judged(name, "limits", lambda: Limits(**value))
    return Limits(**value)
