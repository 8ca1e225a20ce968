"""Actum: a runtime for LLM agents in which one answer becomes a graph of calls that runs while it streams."""

from importlib import import_module
from sys import modules
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import approvals, connections, errors, events, inspection, kept, messages, models, serving, testing
    from .app.agent import Agent
    from .app.idea import Idea
    from .app.stream import Conversation, Stream
    from .app.tools import DEFAULT as tools  # noqa: N811 -- the process-wide default registry, as users know it
    from .app.tools import Tools
    from .evals.evaluation import Eval
    from .execution.approver import HOLD, Reply
    from .execution.calls.invoking import Output
    from .models.prices import Price
    from .protocol.activity import Activity, Ctx
    from .protocol.call import Call
    from .protocol.config import Config, Limits, Settings
    from .protocol.context import Context, Progress
    from .protocol.registry import Backoff
    from .protocol.solution import CallAccount, Result, Solution
    from .protocol.tool import Tool
    from .protocol.usage import Usage
    from .refine.learning import Plans
    from .runs.handle import Run
    from .runs.runs import Runs
    from .runs.worker import Worker
    from .tracing.trace import Trace

__version__ = "0.1.0"

__all__ = [
    "HOLD",
    "Activity",
    "Agent",
    "Backoff",
    "Call",
    "CallAccount",
    "Config",
    "Context",
    "Conversation",
    "Ctx",
    "Eval",
    "Idea",
    "Limits",
    "Output",
    "Plans",
    "Price",
    "Progress",
    "Reply",
    "Result",
    "Run",
    "Runs",
    "Settings",
    "Solution",
    "Stream",
    "Tool",
    "Tools",
    "Trace",
    "Usage",
    "Worker",
    "approvals",
    "connections",
    "errors",
    "events",
    "inspection",
    "kept",
    "messages",
    "models",
    "serving",
    "testing",
    "tools",
]

_HOMES = {
    "HOLD": "execution.approver:HOLD",
    "Activity": "protocol.activity:Activity",
    "Agent": "app.agent:Agent",
    "Backoff": "protocol.registry:Backoff",
    "CallAccount": "protocol.solution:CallAccount",
    "Call": "protocol.call:Call",
    "Eval": "evals.evaluation:Eval",
    "Plans": "refine.learning:Plans",
    "Price": "models.prices:Price",
    "Config": "protocol.config:Config",
    "Settings": "protocol.config:Settings",
    "Context": "protocol.context:Context",
    "Conversation": "app.stream:Conversation",
    "Ctx": "protocol.activity:Ctx",
    "Idea": "app.idea:Idea",
    "Limits": "protocol.config:Limits",
    "Output": "execution.calls.invoking:Output",
    "Progress": "protocol.context:Progress",
    "Reply": "execution.approver:Reply",
    "Result": "protocol.solution:Result",
    "Run": "runs.handle:Run",
    "Runs": "runs.runs:Runs",
    "Solution": "protocol.solution:Solution",
    "Stream": "app.stream:Stream",
    "Tool": "protocol.tool:Tool",
    "Tools": "app.tools:Tools",
    "Trace": "tracing.trace:Trace",
    "Usage": "protocol.usage:Usage",
    "Worker": "runs.worker:Worker",
    "approvals": "approvals",
    "connections": "connections",
    "errors": "errors",
    "events": "events",
    "inspection": "inspection",
    "kept": "kept",
    "messages": "messages",
    "models": "models",
    "serving": "serving",
    "testing": "testing",
    "tools": "app.tools:DEFAULT",
}
"""Where each public name is imported from, when it is first used: `import actum` itself costs next to nothing."""


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name, obj=modules[__name__])
    module, _, member = _HOMES[name].partition(":")
    found: Any = import_module(f".{module}", __name__)
    globals()[name] = found = getattr(found, member) if member else found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
