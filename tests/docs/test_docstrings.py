"""What `help()` and editors show of the public names: no numbers of rules, and every parameter by its name."""

from __future__ import annotations

import inspect
import pydoc
import re
from collections.abc import Callable, Hashable, Iterator
from functools import cached_property
from types import ModuleType
from typing import Any, cast

import actum

from ..rules.manifest import rules

_ASIDE = re.compile(r"\(([^()]*)\)")
_FEW = 2
"""How many parameters speak for themselves."""


def _inner(member: Any) -> Any:
    """The function behind a method or a property."""
    if isinstance(member, property):
        return member.fget
    if isinstance(member, cached_property):
        return cast("Any", member).func
    return getattr(member, "__func__", member)


def _names(module: ModuleType) -> list[str]:
    names = [name for name, member in vars(module).items() if getattr(member, "__module__", None) == module.__name__]
    return getattr(module, "__all__", None) or [name for name in names if name[:1] != "_"]


def public() -> dict[str, Any]:
    """Every module, class and function that is reached from `actum`, with what its classes inherit."""
    by_name: dict[str, Any] = {}

    def visit(name: str, value: Any) -> None:
        if any(value is other for other in by_name.values()):
            return
        if isinstance(value, ModuleType):
            by_name[name] = value
            for member in _names(value):
                visit(f"{name}.{member}", getattr(value, member))
        elif inspect.isclass(value):
            for base in value.__mro__:
                if base.__module__.startswith("actum"):
                    by_name[name if base is value else f"{base.__module__}.{base.__qualname__}"] = base
                    for key, member in vars(base).items():
                        if (key[:1] != "_" or key == "__call__") and inspect.isfunction(_inner(member)):
                            by_name[f"{base.__qualname__}.{key}"] = _inner(member)
        elif inspect.isfunction(value):
            by_name[name] = value

    visit("actum", actum)
    return by_name


PUBLIC = public()


def _documented(value: Any) -> Iterator[tuple[Callable[..., Any], str]]:
    """A function with its documentation; for a class, its constructor with the documentation of the class.

    What the methods that run something share stands in the docstring of their class, an agent or a conversation.
    """
    if inspect.isclass(value):
        if "__init__" in vars(value) and "__dataclass_fields__" not in vars(value):
            yield vars(value)["__init__"], value.__doc__ or ""
    elif inspect.isfunction(value):
        shared = (actum.Agent, actum.Conversation) if vars(actum.Agent).get(value.__name__) is value else ()
        yield value, "\n".join(other.__doc__ or "" for other in (value, *shared))


def test_help_of_an_agent_is_of_its_public_names() -> None:
    names = {name for name, value in vars(actum.Agent).items() if name[:1] != "_" and inspect.isfunction(value)}
    assert names == {
        *(
            "compose",
            "conversation",
            "instructions",
            "override",
            "render",
            "request",
            "resume",
            "run",
            "run_sync",
            "stream",
            "stream_text",
        ),
    }


def test_help_of_an_agent_fits_a_screen() -> None:
    text = pydoc.plain(pydoc.render_doc(actum.Agent))
    assert len(text.splitlines()) <= 60
    assert "__" not in text, "public names only"
    assert issubclass(type("Own", (actum.Agent, Hashable), {}), actum.Agent), "it goes with abstract classes"


def test_no_docstring_that_users_see_cites_a_rule() -> None:
    asides = [(name, aside) for name, value in PUBLIC.items() for aside in _ASIDE.findall(value.__doc__ or "")]
    assert [name for name, aside in asides if rules().keys() & re.findall(r"\w+", aside)] == []


def test_every_parameter_of_three_or_more_is_named() -> None:
    unnamed: list[str] = []
    for name, value in PUBLIC.items():
        for function, words in _documented(value):
            parameters = [
                key for key in inspect.signature(function).parameters if key not in {"self", "cls"} and key[0] != "_"
            ]
            if len(parameters) > _FEW:
                unnamed += [f"{name}: {key}" for key in parameters if not re.search(rf"\b{key}\b", words)]
    assert unnamed == []


def test_what_is_looked_at_is_all_of_it() -> None:
    known = {"actum.Agent", "Agent.run", "actum.errors.ModelError", "actum.kept.resume", "Registry.tool"}
    assert known <= PUBLIC.keys()
