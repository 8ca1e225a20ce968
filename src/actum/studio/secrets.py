"""Secrets of this machine, which no page ever shows, whatever a run has written of them."""

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
    """A text without the secrets, and without more that are named."""
    for secret in [*secrets_of(), *extra]:
        written = json.dumps(secret, ensure_ascii=False)[1:-1]
        forms = {secret, written, str(escape(secret)), str(escape(written))}
        for form in forms | {html.escape(secret, quote=False), html.escape(written, quote=False)}:
            if form and form in text:
                text = text.replace(form, MARK)
    return text


def without_secrets(run: Idea) -> Idea:
    """A run in which the secrets are not: what a page shows of a value may be a part of it, in any form."""
    if not secrets_of():
        return run
    text = write_idea(run.text)
    shown = masked(text)
    return run if shown == text else Idea.read(shown, "the run", run.context.origin)


def seal(value: Any) -> str:
    """What a form names a value by that it can't hold, since a part of it may be secret, and that is to be the same.

    It is another for another value, in every process with the same secrets, and tells nobody what is hidden.
    """
    return hmac.new("\0".join(secrets_of()).encode(), encode(value, sort_keys=True).encode(), "sha256").hexdigest()


def pending_seal(pending: Pending, *, is_whole: bool = True) -> str:
    """The seal of a call that waits and what crosses with it, as a form of a page that shows all of it sends it.

    One that shows a part sends another, which can't approve it.
    """
    content = pending.call if not pending.crossing else [pending.call, *pending.crossing]
    return seal(content if is_whole else {"part": content})


def unmasked(sent: Any, original: Any, extra: Iterable[str] = ()) -> Any:
    """What a form has sent of a value that a page has shown: the value itself where nothing was changed.

    Raises:
        IdeaError: it was changed beside something that is hidden, which would be lost.
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
