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

_CLASSES = {
    name: (module, name)
    for module, names in {
        "app.agent": "Agent",
        "app.idea": "Idea",
        "app.stream": "Conversation Stream",
        "app.tools": "Tools",
        "evals.evaluation": "Eval",
        "execution.approver": "HOLD Reply",
        "execution.calls.invoking": "Output",
        "models.prices": "Price",
        "protocol.activity": "Activity Ctx",
        "protocol.call": "Call",
        "protocol.config": "Config Limits Settings",
        "protocol.context": "Context Progress",
        "protocol.registry": "Backoff",
        "protocol.solution": "CallAccount Result Solution",
        "protocol.tool": "Tool",
        "protocol.usage": "Usage",
        "refine.learning": "Plans",
        "runs.handle": "Run",
        "runs.runs": "Runs",
        "runs.worker": "Worker",
        "tracing.trace": "Trace",
    }.items()
    for name in names.split()
}
_MODULES = {name: (name, "") for name in __all__ if name.islower()}
_HOMES = _CLASSES | _MODULES | {"tools": ("app.tools", "DEFAULT")}
"""Where each public name is imported from, when it is first used: `import actum` itself costs next to nothing."""


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name, obj=modules[__name__])
    module, member = _HOMES[name]
    value: Any = import_module(f".{module}", __name__)
    globals()[name] = value = getattr(value, member) if member else value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
