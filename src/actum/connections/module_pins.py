"""What a module registered when its user pinned it: commands that only inspect an Idea read this, and run no module.

The pins of `shop.py` are in `shop.py.pins`, beside it: each tool and Activity that it registered, and the digests of
the files in its folder that it was loaded from, which show whether the pins are out of date. They are JSON under
another ending, since a folder's *.json are Ideas and runs.
"""

from __future__ import annotations

import hashlib
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path, PurePosixPath
from typing import Any

from ..errors import ActumError, IdeaError
from ..protocol.registry import Registry
from ..schema.json import JsonObject, is_object
from ..sources.files import read_text
from ..sources.roots import root_of
from .pinning import are_pinned, changes, parse_pins, pinned, unpinned, write_pins

_MOST_SOURCES = 200
"""How many files of one module are compared."""
_OPTIONAL, _ANY = "optional", "any"
"""Kinds of parameters of an Activity, besides required."""
_KINDS = {
    inspect.Parameter.POSITIONAL_OR_KEYWORD: "",
    inspect.Parameter.KEYWORD_ONLY: "",
    inspect.Parameter.VAR_KEYWORD: _ANY,
}


@dataclass(frozen=True)
class ModulePins:
    """The tools and Activities of a module, by name, and the digest of each file that it was loaded from."""

    sources: Mapping[str, str]
    tools: Mapping[str, JsonObject]

    @classmethod
    def beside(cls, file: Path, roots: Sequence[Path] | None = None) -> ModulePins | None:
        """The pins of a module's file; None if it has none. They must lie below the roots, if any are given.

        Raises:
            IdeaError: they can't be used.
        """
        path = pins_path(file)
        if roots is not None and root_of(path.resolve(), roots) is None:
            raise IdeaError(f"{path.name}: leads out of the folders that the Idea may reach (--root)")
        if not path.exists():
            return None
        return _read(path, read_text(path))

    @classmethod
    def _of(cls, path: Path, pins: JsonObject) -> ModulePins:
        sources: Any = pins.get("sources")
        tools: Any = pins.get("tools")
        if not (_are_sources(sources) and are_pinned(tools) and all(_is_entry(pin["tool"]) for pin in tools.values())):
            raise IdeaError(f"{path}: these are not pins; `actum pin` writes them")
        try:
            return cls(sources, unpinned(tools))
        except IdeaError as error:
            raise IdeaError(f"{path}: {error.message}; `actum pin` writes it anew") from None

    @classmethod
    def of(cls, file: Path, registered: Registry) -> ModulePins:
        """The pins of a module that was loaded from a file and has registered these tools."""
        return cls({name: _digest(file.parent / name) for name in _loaded_from(file)}, dict(_entries(registered)))

    def save(self, file: Path) -> Path:
        """Write them beside a module's file; return their path.

        Raises:
            IdeaError: they can't be written.
        """
        # A model is shown tools and their properties in this order.
        pins = {"sources": dict(self.sources), "tools": pinned(self.tools)}
        return write_pins(pins_path(file), pins, sort_keys=False)

    def changed(self, file: Path) -> list[str]:
        """The files that have changed since the module was pinned."""
        return [name for name, digest in self.sources.items() if _digest_below(file.parent, name) != digest]

    def differences(self, now: ModulePins) -> Iterator[str]:
        """The changes since, a line each."""
        words = {"changed": "has changed", "added": "is new", "removed": "is gone"}
        for change, name in changes(self.tools, now.tools):
            yield f"{name!r} {words[change]}"

    def register(self, registry: Registry) -> list[str]:
        """Register what is pinned, with functions that can't be called; return what can't be registered, and why.

        The tools are the same objects each time, so that schemas composed of them are cached.
        """
        registry.take(self._registered)
        return list(self._refused)

    @cached_property
    def _refused(self) -> list[str]:
        return []

    @cached_property
    def _registered(self) -> Registry:
        registry = Registry()
        for name, entry in self.tools.items():
            try:
                if "schema" in entry:
                    registry.register(name, entry["schema"])
                if "activity" in entry:
                    activity = entry["activity"]
                    registry.activity(name, _stand_in(name, activity["parameters"]), retries=activity["retries"])
            except ActumError as error:
                self._refused.append(f"{name!r}: {error.message}")
        return registry


@lru_cache(maxsize=64)
def _read(path: Path, text: str) -> ModulePins:
    """The pins in a file with this text, cached."""
    return ModulePins._of(path, parse_pins(path, text))  # pyright: ignore[reportPrivateUsage] -- of this module


def pins_path(file: Path) -> Path:
    """The path of a module's pins: `shop.py` → `shop.py.pins`."""
    return file.with_name(f"{file.name}.pins")


def _entries(registered: Registry) -> Iterator[tuple[str, JsonObject]]:
    tools = {tool.name: tool for tool in registered}
    for name in dict.fromkeys((*tools, *registered.activity_names)):
        entry: JsonObject = {}
        if (tool := tools.get(name)) is not None:
            entry["schema"] = tool.schema
        if (activity := registered.find_activity(name)) is not None:
            entry["activity"] = {"parameters": dict(_parameters(activity.signature)), "retries": activity.retries}
        elif tool is not None and tool.bound is not None:
            # A bound delegate exists only in the process that made it: for a model, it is a tool like any other.
            entry["schema"] = _without_delegate(tool.schema)
            entry["activity"] = {"parameters": {}, "retries": 0}
        yield name, entry


def _without_delegate(schema: JsonObject) -> JsonObject:
    rest = {key: value for key, value in schema.items() if key != "_delegate"}
    properties = {key: value for key, value in rest.get("properties", {}).items() if key != "_delegate"}
    return rest | ({"properties": properties} if "properties" in rest else {})


def _parameters(signature: inspect.Signature) -> Iterator[tuple[str, str]]:
    for name, parameter in signature.parameters.items():
        if parameter.kind in _KINDS:
            is_required = parameter.default is inspect.Parameter.empty
            yield name, _KINDS[parameter.kind] or ("required" if is_required else _OPTIONAL)


def _stand_in(name: str, kinds: Mapping[str, str]) -> Callable[..., Any]:
    """A function with the parameters of a pinned Activity."""

    def not_loaded(**_: Any) -> Any:
        raise RuntimeError("its module was not loaded, so it can't be called")

    make, empty = inspect.Parameter, inspect.Parameter.empty
    parameters = [
        make(parameter, make.VAR_KEYWORD)
        if kind == _ANY
        else make(parameter, make.KEYWORD_ONLY, default=None if kind == _OPTIONAL else empty)
        for parameter, kind in sorted(kinds.items(), key=lambda item: item[1] == _ANY)
    ]
    not_loaded.__name__ = name
    not_loaded.__signature__ = inspect.Signature(parameters)  # pyright: ignore[reportFunctionMemberAccess] -- as `inspect` reads it
    return not_loaded


def _is_entry(entry: JsonObject) -> bool:
    activity: Any = entry.get("activity", {"parameters": {}, "retries": 0})
    parameters: Any = activity.get("parameters") if is_object(activity) else None
    return (
        is_object(parameters)
        and all(name.isidentifier() and kind in ("required", _OPTIONAL, _ANY) for name, kind in parameters.items())
        and [*parameters.values()].count(_ANY) <= 1
        and "retries" in activity
        and not entry.keys() - {"schema", "activity"}
    )


def _are_sources(sources: Any) -> bool:
    return (
        is_object(sources) and len(sources) <= _MOST_SOURCES and all(isinstance(text, str) for text in sources.values())
    )


def _loaded_from(file: Path) -> list[str]:
    """The file of a module, and those in its folder that other modules were loaded from, by relative path."""
    folder, package = file.parent, Path(__file__).parents[1]
    paths = {file}
    for module in [*sys.modules.values()]:
        path = Path(getattr(module, "__file__", None) or "").resolve()
        is_library = path.is_relative_to(package) or path.is_relative_to(sys.prefix) or "site-packages" in path.parts
        if path.suffix == ".py" and path.is_relative_to(folder) and not is_library:
            paths.add(path)
    return sorted(path.relative_to(folder).as_posix() for path in paths)[:_MOST_SOURCES]


def _digest(path: Path) -> str:
    return hashlib.sha256(read_text(path).encode()).hexdigest()


def _digest_below(folder: Path, name: str) -> str | None:
    """The digest of a file below a folder; None if there is none, or it lies elsewhere."""
    try:
        path = folder.joinpath(*PurePosixPath(name).parts).resolve()
        return _digest(path) if path.is_relative_to(folder.resolve()) else None
    except (OSError, ValueError, IdeaError):
        return None
