"""The pages about the Python API, from signatures and docstrings: names, modules, events."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cached_property
from importlib import import_module
from types import ModuleType
from typing import Any

from markup import attribute_docs, code, prose, shown, signature, table

import actum
from actum import events

_INNER: Mapping[str, tuple[str, ...]] = {
    "Activity": ("of", "under", "check", "retries_of", "check_retries", "arguments", "sees_context", "compensation"),
    "Context": ("checked", "keyed"),
    "Registry": ("withdraw",),
    "Tool": (
        "is_contracted", "bound", "validator", "output_validator", "accepts_null", "is_plain", "constants", "choices",
        "names_instances", "underivable", "takes", "returns", "size",
    ),
    "Tools": ("withdraw",),
}  # fmt: skip
"""What is public for other modules of Actum, and left out here."""
_FURTHER = ("serving", "studio")
"""Public packages that `import actum` does not name, where they are installed."""


def names_page() -> str:
    """Every class, function and value of `actum` itself."""
    exported = [(name, getattr(actum, name)) for name in actum.__all__]
    shown = [(name, value) for name, value in exported if not isinstance(value, ModuleType)]
    parts = [
        "# Python: `actum`\n",
        "Everything here is imported as `from actum import …`; nothing heavy is imported before it is used. The "
        "[modules](modules.md) hold the rest; "
        "[events](events.md) and [errors](errors.md) have pages of their own.\n",
    ]
    parts += [_entry(name, value, "## ") for name, value in sorted(shown, key=lambda pair: pair[0].lower())]
    return "\n".join(parts)


def modules_page() -> str:
    """Every public module with its names."""
    parts = [
        "# Python: the modules of `actum`\n",
        "`from actum import models`, and likewise for the others.\n",
    ]
    for name, module in _modules():
        parts += [f"## `actum.{name}`\n", f"{prose(module.__doc__)}\n"]
        for exported in _public(module):
            value = getattr(module, exported)
            if getattr(actum, exported, None) is value and exported in actum.__all__:
                parts.append(f"[`{exported}`](api.md#{exported.lower()}) is `actum.{exported}`.\n")
            else:
                parts.append(_entry(exported, value, "### ", f"{name}."))
    return "\n".join(parts)


def events_page() -> str:
    """Every event with its fields."""
    shared = {name for base in (events.Event, events.CallEvent) for name in base.__annotations__}
    classes = typing.get_args(events.AnyEvent)
    parts = [
        "# Events\n",
        f"{prose(events.__doc__)}\n",
        "`agent.stream(…)`, `talk.stream(…)` and `actum run --json` tell of them. All have `at`, `depth` and `path`; "
        f"those of calls `call` and `place` as well: {attribute_docs(events.CallEvent)['place']}\n",
    ]
    for event in classes:
        rows = [
            (code(field.name), code(field.type), "" if _required(field) else _default(field))
            for field in fields(event)
            if field.name not in shared
        ]
        parts += [f"## {event.__name__}\n", f"{prose(event.__doc__)}\n"]
        parts += [table(["field", "type", "default"], rows)] if rows else []
    return "\n".join(parts)


def _modules() -> Iterator[tuple[str, ModuleType]]:
    for name in dict.fromkeys([*actum.__all__, *_FURTHER]):
        value = getattr(actum, name, None)
        if value is None and name in _FURTHER:
            try:
                value = import_module(f"actum.{name}")
            except ImportError:
                continue
        if isinstance(value, ModuleType) and name not in {"errors", "events"}:
            yield name, value


def _public(module: ModuleType) -> list[str]:
    """What a module says is public, else what it defines itself."""
    listed = getattr(module, "__all__", None)
    if listed is not None:
        return [*listed]
    return [
        name
        for name, value in vars(module).items()
        if name[:1] != "_" and name.upper() != name and getattr(value, "__module__", None) == module.__name__
    ]


def _entry(name: str, value: Any, mark: str, prefix: str = "") -> str:
    if inspect.isclass(value):
        return "\n".join([f"{mark}{name}\n", *_class(name, value, f"{mark.strip()}#")])
    if inspect.isroutine(value):
        return f"{mark}{name}\n\n```py\n{signature(prefix + name, value)}\n```\n\n{prose(value.__doc__)}\n"
    words = prose(type(value).__doc__) if type(value).__module__.startswith("actum") else ""
    value_words = f"A {type(value).__name__}." if shown(value) == "…" else f"A value: `{shown(value)}`."
    return f"{mark}{name}\n\n{words or value_words}\n"


def _class(name: str, value: type, mark: str) -> Iterator[str]:
    if is_dataclass(value) or _has_signature(value):
        yield f"```py\n{_made(name, value)}\n```\n"
    yield f"{prose(value.__doc__)}\n"
    words = attribute_docs(value)
    if is_dataclass(value) and (shown_fields := [field for field in fields(value) if field.name[:1] != "_"]):
        rows = [
            (code(field.name), code(field.type), "" if _required(field) else _default(field),
             words.get(field.name, ""))
            for field in shown_fields
        ]  # fmt: skip
        yield table(["field", "type", "default", "what it is"], rows)
    for member, part in _members(value):
        yield _member(name, member, part, mark)


def _made(name: str, value: type) -> str:
    try:
        return signature(name, value.__init__ if not is_dataclass(value) else value, drops_self=not is_dataclass(value)
                         ).removesuffix(" -> None")  # fmt: skip
    except (TypeError, ValueError):
        return name


def _has_signature(value: type) -> bool:
    return "__init__" in vars(value) and not issubclass(value, BaseException) and not getattr(value, "_is_protocol", 0)


def _members(value: type) -> Iterator[tuple[str, Any]]:
    """The public methods and properties of a class, inherited ones of Actum too, in the order of the source."""
    members: dict[str, Any] = {}
    documented = [base for name in actum.__all__ if inspect.isclass(base := getattr(actum, name)) and base is not value]
    for base in reversed(value.__mro__):
        if base.__module__.startswith("actum") and base not in documented:
            members |= {name: member for name, member in vars(base).items() if name[:1] != "_" or name == "__call__"}
    hidden = {field.name for field in fields(value)} if is_dataclass(value) else set[str]()
    for name, member in members.items():
        if name not in hidden and name not in _INNER.get(value.__name__, ()) and _is_told(member):
            yield name, member


def _is_told(member: Any) -> bool:
    inner = member.__func__ if isinstance(member, classmethod | staticmethod) else member
    inner = inner.func if isinstance(inner, cached_property) else inner
    is_code = isinstance(inner, property) or inspect.isroutine(inner)
    return is_code and bool(inspect.getdoc(inner)) and not _is_of_builtin(inner)


def _is_of_builtin(member: Any) -> bool:
    return not getattr(member, "__module__", "actum").startswith("actum")


def _member(owner: str, name: str, member: Any, mark: str) -> str:
    if isinstance(member, property | cached_property):
        function = member.fget if isinstance(member, property) else member.func
        returned = inspect.signature(function).return_annotation if function is not None else ""
        kind = f": {returned}" if returned not in ("", inspect.Signature.empty) else ""
        return f"{mark} {owner}.{name}\n\n```py\n{name}{kind}\n```\n\n{prose(member.__doc__)}\n"
    inner = member.__func__ if isinstance(member, classmethod | staticmethod) else member
    drops = not isinstance(member, staticmethod)
    title = f"{owner}()" if name == "__call__" else f"{owner}.{name}()"
    written = f"{owner[:1].lower()}{owner[1:]}" if name == "__call__" else name
    words = prose(inspect.getdoc(inner))
    return f"{mark} {title}\n\n```py\n{signature(written, inner, drops_self=drops)}\n```\n\n{words}\n"


def _required(field: Any) -> bool:
    return field.default is MISSING and field.default_factory is MISSING


def _default(field: Any) -> str:
    return code(shown(field.default if field.default is not MISSING else field.default_factory()))
