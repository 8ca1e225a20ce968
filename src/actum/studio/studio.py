"""`Studio`: what its pages are about and may do: the Ideas of a shelf, the runs of one place, and what starts them."""

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
from ..runs.runs import Run, Runs
from ..schema.json import JsonObject
from .forms.reading import Upload
from .shelf import Shelf

BASE = "/studio"
"""Where its pages are."""
NO_MODEL = "none"
"""What is chosen for a run by the Idea's plan alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Studio:
    """`models` are those that are suggested; `closing` is set when streams are to end."""

    runs: Runs
    shelf: Shelf
    models: Sequence[str] = ()
    closing: asyncio.Event = field(default_factory=asyncio.Event)
    secrets: Sequence[str] = ()
    """What no page may show, beside the secrets of the environment."""
    admit: Callable[[Any], None] = lambda _request: None
    """Raises where who asks may not see the pages."""

    async def start(
        self, idea: Idea, input: Mapping[str, Any] | None, model: str, files: Iterable[Upload] = (), key: str = ""
    ) -> Run:
        """Have an Idea run, with the model that was chosen, as its config says, or by its plan alone.

        Raises:
            MessageError, IdeaError: the input doesn't fit, or it can't be run so.
        """
        messages = [_message(one) for one in files]
        context = idea.context.extended(messages) if messages else idea.context
        config = dict(idea.config)
        own = replace(idea, context=context)
        if model == NO_MODEL:
            config.pop("model", None)
            own = replace(own, context=own.without_model(), solution=None)
            if not any(message.get("type") == "plan" for message in own.context):
                raise IdeaError("it has no plan: it runs with a model only")
        elif model:
            config["model"] = model
        meta = {**idea.meta, "path": idea.meta.get("path") or key} if key else idea.meta
        with_input(own.context, None if input is None else dict(input))
        return await self.runs.submit(replace(own, config=config, meta=meta), input=input)

    async def decide(
        self, run: Run, of: str, ruling: Ruling, call: JsonObject, *, reason: str = "", edit: Any = None
    ) -> None:
        """Decide on a call that waits, if it is the one that was shown: what was shown is what will cross (L6).

        Raises:
            IdeaError: another call waits there, or none; or its tool doesn't take the parameters.
            RunError: the run is over.
        """
        waiting = await self.waiting(run, of)
        if waiting is None or waiting.call != call:
            raise IdeaError("that call waits no longer, or another one waits there now: look at it first")
        await run.decide(of, ruling, reason=reason, parameters=edit)

    async def waiting(self, run: Run, of: str) -> Pending | None:
        """The call of a run that waits at a place."""
        return next((one for one in await run.pending() if one.of == of), None)


def _message(file: Upload) -> JsonObject:
    """A file that was sent as the message by which a model is shown it."""
    kind = file.media_type.partition("/")[0]
    data = base64.b64encode(file.content).decode()
    own = {"type": kind if kind in {"image", "audio"} else "file", "data": data, "media_type": file.media_type}
    return {**own, "name": file.name} if file.name else own
