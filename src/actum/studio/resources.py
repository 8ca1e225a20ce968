"""`Studio`: what its pages work on: the Ideas of a shelf and of a store, and runs."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..app.coercion import with_input
from ..app.idea import Idea
from ..errors import IdeaError
from ..protocol.approvals import Pending, Ruling
from ..runs.handle import Run
from ..runs.runs import Runs
from ..schema.json import JsonObject
from ..storage.open import default_store
from .forms.sent import Upload
from .secrets import pending_seal
from .shelf import Shelf
from .stored import Stored, is_address

BASE = "/studio"
"""The path of its pages."""
NO_MODEL = "none"
"""The choice to run the Idea's plan without a model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Studio:
    """`models` are suggestions; `closing` is set when streams have to end."""

    runs: Runs
    shelf: Shelf
    stored: Stored = field(default_factory=lambda: Stored(default_store()))
    """The store of Ideas, whose versions are shown."""
    lists_store: bool = True
    """Whether its Ideas are listed and run, too."""
    models: Sequence[str] = ()
    closing: asyncio.Event = field(default_factory=asyncio.Event)
    secrets: Sequence[str] = ()
    """What no page shows, in addition to the secrets of the environment."""
    admit: Callable[[Any], None] = lambda _request: None
    """Raises if the caller may not see the pages."""

    async def open(self, key: str) -> Idea:
        """The Idea with a key of the list: a path on the shelf, or an address in the store.

        Raises:
            IdeaError: it isn't there, or can't be read.
        """
        if is_address(key) and self.lists_store:
            return await self.stored.open(key)
        return await asyncio.to_thread(self.shelf.open, key)

    async def start(
        self,
        idea: Idea,
        input: Mapping[str, Any] | None,
        model: str,
        files: Iterable[Upload] = (),
        key: str = "",
        id: str | None = None,
    ) -> Run:
        """Start a run of an Idea, with the chosen model, that of its config, or none; only one for each id.

        Raises:
            MessageError, IdeaError: the input doesn't fit, or the Idea can't be run so.
        """
        messages = [_message(file) for file in files]
        context = idea.context.extended(messages) if messages else idea.context
        config = dict(idea.config)
        begun = replace(idea, context=context)
        if model == NO_MODEL:
            config.pop("model", None)
            begun = replace(begun, context=begun.without_model(), solution=None)
            if not any(message.get("type") == "plan" for message in begun.context):
                raise IdeaError("the Idea has no plan, so it needs a model")
        elif model:
            config["model"] = model
        meta = {**idea.meta, "path": idea.meta.get("path") or key} if key else idea.meta
        if not idea.meta and not any(message.get("type") == "meta" for message in begun.context):
            config.setdefault("meta", False)  # its name is for the list of runs: the model is asked as elsewhere
        with_input(begun.context, None if input is None else dict(input))
        return await self.runs.submit(replace(begun, config=config, meta=meta), input=input, id=id)

    async def decide(
        self,
        run: Run,
        shown: Mapping[str, str],
        ruling: Ruling,
        reason: str = "",
        parameters: Mapping[str, Any] | None = None,
    ) -> None:
        """Decide on calls that wait, by their places, if they are those that were shown (L6); else on none.

        `shown` are their seals: a call that a page showed only in part can be denied there, but not approved. Raises as
        `Run.decide_all`.
        """

        def is_as_shown(pending: Pending) -> bool:
            is_part = ruling == "deny" and shown[pending.of] == pending_seal(pending, is_whole=False)
            return is_part or shown[pending.of] == pending_seal(pending)

        await run.decide_all(
            list(shown),
            ruling,
            reason=reason,
            parameters=parameters,
            by="the Studio",
            is_as_shown=is_as_shown,
        )


def _message(file: Upload) -> JsonObject:
    """The message that shows an uploaded file to a model."""
    kind = file.media_type.partition("/")[0]
    data = base64.b64encode(file.content).decode()
    message = {"type": kind if kind in {"image", "audio"} else "file", "data": data, "media_type": file.media_type}
    return {**message, "name": file.name} if file.name else message
