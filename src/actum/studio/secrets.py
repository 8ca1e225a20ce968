"""Secrets of this machine, which no page shows, even if a run has written them."""

from __future__ import annotations

import hmac
import html
import json
from collections.abc import Iterable
from typing import Any

from markupsafe import escape

from ..app.idea import Idea
from ..errors import IdeaError
from ..ideas.file import write_idea
from ..protocol.approvals import Pending
from ..schema.json import decode, encode
from ..sources.environment import secrets_of

MARK = "•••"


def masked(text: str, extra: Iterable[str] = ()) -> str:
    """A text with all secrets masked, and the extra ones."""
    for secret in [*secrets_of(), *extra]:
        written = json.dumps(secret, ensure_ascii=False)[1:-1]
        forms = {secret, written, str(escape(secret)), str(escape(written))}
        for form in forms | {html.escape(secret, quote=False), html.escape(written, quote=False)}:
            if form and form in text:
                text = text.replace(form, MARK)
    return text


def without_secrets(run: Idea) -> Idea:
    """A run with secrets masked in its values, since pages may show parts of a value in other forms."""
    if not secrets_of():
        return run
    text = write_idea(run.text)
    shown = masked(text)
    return run if shown == text else Idea.read(shown, "the run", run.context.origin)


def seal(value: Any) -> str:
    """A keyed hash of a value, by which a form names it: the value itself may hold secrets.

    It is the same in every process with the same secrets, differs for other values, and reveals nothing.
    """
    return hmac.new("\0".join(secrets_of()).encode(), encode(value, sort_keys=True).encode(), "sha256").hexdigest()


def pending_seal(pending: Pending, *, is_whole: bool = True) -> str:
    """The seal of a call that waits and of what crosses with it, for a page that shows all of it.

    A page that shows a part uses another seal, which can't approve the call.
    """
    content = pending.call if not pending.crossing else [pending.call, *pending.crossing]
    return seal(content if is_whole else {"part": content})


def unmasked(sent: Any, original: Any, extra: Iterable[str] = ()) -> Any:
    """The value that a form has sent for one that a page has shown; the original, unmasked, if it wasn't changed.

    Raises:
        IdeaError: it was changed, and masked parts of it would be lost.
    """
    text = encode(original)
    shown = masked(text, extra)
    if shown == text or sent is None:
        return sent
    if sent == decode(shown):
        return original
    if MARK in encode(sent):
        raise IdeaError(f"what is hidden ({MARK}) would be lost: leave it all as it is, or write it anew")
    return sent
