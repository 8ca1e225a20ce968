"""Names and attributes of spans by OpenTelemetry's semantic conventions for GenAI, all in one place.

The conventions have no stable version yet; these are the names that OpenTelemetry's own instrumentations use
(`opentelemetry-util-genai` 1.3b0). Names that they lack begin with `actum.`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from .. import spans
from ..errors import ActumError
from ..protocol.usage import Usage
from ..schema.json import is_list

Attributes: TypeAlias = dict[str, Any]

OPERATION: Final = "gen_ai.operation.name"
PROVIDER: Final = "gen_ai.provider.name"
MODEL: Final = "gen_ai.request.model"
AGENT: Final = "gen_ai.agent.name"
TOOL: Final = "gen_ai.tool.name"
TOOL_TYPE: Final = "gen_ai.tool.type"
TOKEN_TYPE: Final = "gen_ai.token.type"
INPUT: Final = "gen_ai.usage.input_tokens"
OUTPUT: Final = "gen_ai.usage.output_tokens"
ERROR: Final = "error.type"

_SETTINGS = {
    "temperature": "gen_ai.request.temperature",
    "top_p": "gen_ai.request.top_p",
    "top_k": "gen_ai.request.top_k",
    "max_tokens": "gen_ai.request.max_tokens",
    "seed": "gen_ai.request.seed",
    "frequency_penalty": "gen_ai.request.frequency_penalty",
    "presence_penalty": "gen_ai.request.presence_penalty",
}

_PROVIDERS = {"google": "gcp.gemini", "openai-responses": "openai"}
"""The providers with another name in the conventions; the others keep that of `models.load`."""


class SpanBegun(NamedTuple):
    """A span as it begins: `link` is the `traceparent` of an earlier one that it continues."""

    name: str
    attributes: Attributes
    link: str = ""


def span_begun(begun: spans.Beginning) -> SpanBegun:
    """The name of a span, and its attributes as it begins."""
    named = _describe(begun)
    marks = {"actum.run.id": begun.run, "actum.place": "" if begun.place is None else str(begun.place)}
    return named._replace(attributes=_without_empty({**named.attributes, **marks}))


def _describe(begun: spans.Beginning) -> SpanBegun:
    match begun:
        case spans.RunBegun():
            provider, model = provider_and_model(begun.model) if begun.model else ("", "")
            about: Attributes = {OPERATION: "invoke_agent", AGENT: begun.name, "gen_ai.agent.version": begun.version}
            name = f"invoke_agent {begun.name}".rstrip()
            return SpanBegun(name, {**about, PROVIDER: provider, MODEL: model}, begun.goes_on_from)
        case spans.RequestBegun():
            provider, model = provider_and_model(begun.model)
            about = {OPERATION: "chat", PROVIDER: provider, MODEL: model, "gen_ai.output.type": "json"}
            return SpanBegun(f"chat {model}", {**about, "gen_ai.request.stream": True, **_settings(begun.settings)})
        case spans.CallBegun():
            about = {OPERATION: "execute_tool", TOOL: begun.call.tool, TOOL_TYPE: "function"}
            about |= {"gen_ai.tool.call.id": begun.key, "gen_ai.tool.description": begun.description}
            name = f"execute_tool {begun.call.tool}".rstrip()
            return SpanBegun(name, {**about, "actum.call.how": begun.how}, begun.asked_by)
        case spans.ApprovalBegun():
            return SpanBegun(f"approve {begun.tool}", {TOOL: begun.tool})


def span_ended(ended: spans.Ending) -> Attributes:
    """The attributes of a span when it has ended."""
    match ended:
        case spans.RunReturned():
            outcome = "waiting" if ended.waiting else "" if ended.output is not None else "unfinished"
            return _without_empty({**usage_of(ended.usage), "actum.outcome": outcome})
        case spans.RequestEnded():
            return usage_of(ended.usage)
        case spans.Waits():
            return _without_empty({"actum.outcome": "waiting", "actum.waits_for": tuple(ended.on)})
        case spans.Decided():
            return {"actum.approval.decision": ended.decision}
        case spans.Failed():
            cause = ended.error.__cause__
            about: Attributes = {ERROR: error_type(ended.error), "exception.type": class_name(cause) if cause else ""}
            return _without_empty(about | ({} if ended.usage is None else usage_of(ended.usage)))
        case spans.Cancelled():
            return {"actum.outcome": "cancelled"}
        case _:
            return {}


def usage_of(usage: Usage) -> Attributes:
    """The usage of requests; what isn't known is left out (L5)."""
    return _without_empty(
        {
            INPUT: usage.input_tokens,
            OUTPUT: usage.output_tokens,
            "gen_ai.usage.cache_read.input_tokens": usage.cached_tokens,
            "actum.usage.usd": usage.usd,
        }
    )


def _settings(settings: Mapping[str, Any]) -> Attributes:
    numbers = {
        name: settings[key]
        for key, name in _SETTINGS.items()
        if isinstance(settings.get(key), int | float) and not isinstance(settings[key], bool)
    }
    stop = settings.get("stop")
    return numbers | ({"gen_ai.request.stop_sequences": tuple(map(str, stop))} if is_list(stop) else {})


def _without_empty(attributes: Attributes) -> Attributes:
    """The attributes that have a value."""
    return {key: value for key, value in attributes.items() if value is not None and value not in ("", ())}


def error_type(error: BaseException) -> str:
    """The code of an error; of one that isn't Actum's, its class."""
    return error.code if isinstance(error, ActumError) else class_name(error)


def class_name(error: BaseException) -> str:
    """The full name of an exception's class, a built-in one's alone."""
    kind = type(error)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def provider_and_model(name: str) -> tuple[str, str]:
    """The provider and the model of a model's name such as "openai:gpt-5.2"; "unknown" where it names none."""
    provider, sign, model = name.partition(":")
    return (_PROVIDERS.get(provider, provider), model) if sign else ("unknown", name)
