"""The templates of the Studio, which escape everything, with their filters."""

from __future__ import annotations

import base64
import hashlib
from functools import lru_cache
from importlib.resources import files
from secrets import token_hex
from typing import Any

from ..errors import IdeaError
from ..inspection.wording import is_short, short
from ..schema.installing import pip_install
from ..schema.quoting import printable
from . import notation


@lru_cache(maxsize=1)
def _templates() -> Any:
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ModuleNotFoundError:
        raise IdeaError(f"the Studio needs an extra: {pip_install('serve')}") from None
    from .secrets import pending_seal

    loader = PackageLoader("actum.studio", "templates")
    env = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    filters: dict[str, Any] = {
        "text": notation.shown_text,
        "content": notation.element_text,
        "json": notation.editable_json,
        "pending_seal": pending_seal,
        "are_shown": notation.are_shown,
        "folded": notation.folded_call,
        "plain": _plain,
        "short": short,
        "is_short": is_short,
        "seconds": notation.seconds,
        "count": notation.count,
        "money": notation.money,
        "when": notation.when,
    }
    env.filters.update(filters)
    shared: Any = env.globals
    shared["between"], shared["once"], shared["static"] = notation.between, lambda: token_hex(12), stamped
    return env


def _plain(value: object) -> str:
    return printable(str(value))


def rendered(template: str, **values: Any) -> str:
    """A rendered template.

    Raises:
        IdeaError: the extra `serve` is not installed.
    """
    return _templates().get_template(template).render(values)


def standalone_page(template: str, script: str | None = None, **values: Any) -> str:
    """A page that is one file: its style and its script, one of ours by name, stand in it, and its policy lets nothing
    else in; no secret of this machine is shown.

    Raises:
        IdeaError: the extra `serve` is not installed.
    """
    from .secrets import masked

    assets = {"style": static("studio.css"), "script": "" if script is None else static(script)}
    digests = {f"{name}_hash": _digest_of(text) for name, text in assets.items()}
    return masked(rendered(template, **assets, **digests, **values))


def _digest_of(text: str) -> str:
    """The digest that names a style or a script in a page's policy."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


@lru_cache
def stamped(name: str) -> str:
    """A static file's name with a digest of its text, so that browsers may cache it for good."""
    return f"{name}?{hashlib.sha256(static(name).encode()).hexdigest()[:12]}"


@lru_cache
def static(name: str) -> str:
    """The text of a static file."""
    return (files("actum.studio") / "static" / name).read_text(encoding="utf-8")
