"""What a run tells whoever traces it: of itself, and of its requests. Of its calls: `calls.tracing`."""

from __future__ import annotations

from collections.abc import Sequence

from ..generation.model import Model, ModelRequest
from ..protocol.call import Call
from ..protocol.marks import caller_of, trace_of
from ..protocol.origin import told
from ..protocol.place import Place
from ..schema.json import JsonObject
from ..spans import RequestBegun, RunBegun
from .emitter import Emitter


def run_begun(run: str, model: Model | None, messages: Sequence[JsonObject], emit: Emitter) -> RunBegun:
    """What is told of a run as it begins: a delegate's is named as its call says, any other by its identity."""
    name, version = _identity(messages) if not emit.path else (_delegate(emit.path[-1]), "")
    return RunBegun(
        run=run,
        place=emit.within,
        name=name,
        version=version,
        model="" if model is None else model.name,
        goes_on_from=trace_of(messages),
        below="" if emit.path else caller_of(messages),
    )


def _identity(messages: Sequence[JsonObject]) -> tuple[str, str]:
    """The name and the version of the Idea that is run, as far as they are known."""
    for message in messages:
        if message.get("type") == "meta":
            meta: JsonObject = message["meta"]
            name = "/".join(str(meta[key]) for key in ("domain", "path") if key in meta)
            return name, str(meta.get("version", ""))
    return "", ""


def _delegate(call: Call) -> str:
    """A delegate as the call names it that leads to it: what it says of itself may be from outside."""
    return told(str(call.get("_delegate") or call.tool))


def request_begun(run: str, place: Place | None, model: Model, request: ModelRequest) -> RequestBegun:
    """What is told of a request as it goes to a model."""
    return RequestBegun(
        run=run, place=place, model=model.name, messages=request.messages, settings=dict(request.settings)
    )
