"""What an Idea's `config` means, once: for who runs it as their own, as a delegate, or from outside (D12, D15, X1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from ..errors import IdeaError, SchemaError
from ..protocol.config import ACCEPTED, FIELDS, Config, Limits, Standing, check_fields
from ..schema.json import JsonObject, is_object
from ..schema.quoting import instead

_OF_CONFIG = frozenset(field.name for field in fields(Config))
_INHERITED = tuple(name for name in FIELDS if name in _OF_CONFIG and FIELDS[name].weights.local == "no")


@dataclass(frozen=True, slots=True, kw_only=True)
class IdeaConfig:
    """One `config`, judged: `said` is what it says."""

    said: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @classmethod
    def parse(cls, config: object, name: str = "the Idea") -> IdeaConfig:
        """Read a `config`; `name` is what the Idea is called in messages, its file if that is known.

        Raises:
            IdeaError: naming the file and the field that is unknown, or has a value that it can't have.
        """
        try:
            return cls(said=_judged(config))
        except SchemaError as error:
            failure = IdeaError(f"{name}: {error.message}")
            failure.path = error.path or "config"  # the message says where already
            raise failure from None

    @property
    def fields(self) -> Mapping[str, Any]:
        """Those of `Config` that it says."""
        return {key: value for key, value in self.said.items() if key in _OF_CONFIG}

    @property
    def model(self) -> str | None:
        """The name of its model."""
        return self.said.get("model")

    @property
    def origin(self) -> str | None:
        """The file that relative paths start from."""
        return self.said.get("origin")

    @property
    def activities(self) -> tuple[str, ...]:
        """Modules or files with Activities."""
        return _several(self.said.get("activities", ()))

    @property
    def servers(self) -> tuple[str, ...]:
        """Files of tool servers (MCP)."""
        return _several(self.said.get("servers", ()))

    @property
    def limits(self) -> Limits | None:
        """What a run may spend."""
        return Limits.of(self.said["limits"]) if "limits" in self.said else None

    def of(self, standing: Standing) -> IdeaConfig:
        """The fields that count for a standing, including those that count by grant (see `asked`)."""
        counts = {key: value for key, value in self.said.items() if getattr(FIELDS[key].weights, standing) != "no"}
        return IdeaConfig(said=counts)

    @property
    def asked(self) -> Sequence[str]:
        """The names in it that a delegate from outside must have been granted (D12)."""
        models = (self.model, self.fields.get("reader"))
        named = [*(self.fields.get("tools") or ()), *self.activities, *self.servers]
        return [*named, *(model for model in models if model is not None)]

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
            whole["sealed"] = True  # what a sealed run has brought stays sealed in its delegates (S10)
        return Config(**whole)


def _several(named: str | Sequence[str]) -> tuple[str, ...]:
    return (named,) if isinstance(named, str) else tuple(named)


def _judged(config: object) -> JsonObject:
    """A `config` that can be used.

    Raises:
        SchemaError: saying where it can't.
    """
    if not is_object(config):
        raise SchemaError("'config' must be an object")
    if unknown := sorted(config.keys() - FIELDS.keys()):
        wrong = f"'config' has no {unknown[0]!r}; {instead(unknown[0], sorted(FIELDS))}"
        raise SchemaError(wrong, path=f"config.{unknown[0]}")
    if "limits" in config:
        Limits.of(config["limits"])
    check_fields(config, ACCEPTED, "config")
    Config(**{key: value for key, value in config.items() if key in _OF_CONFIG})
    return config
