"""Actum: a runtime for LLM agents in which one answer becomes a graph of calls that runs while it streams."""

from . import errors, events, messages, models
from .app.agent import Agent
from .app.idea import Idea
from .app.stream import Stream
from .app.tools import DEFAULT, Tools
from .execution.approval import HOLD
from .execution.limits import Limits
from .execution.run_call import Output
from .protocol import approvals
from .protocol.activity import Activity
from .protocol.call import Call
from .protocol.config import Config
from .protocol.context import Context
from .protocol.solution import Result, Solution
from .protocol.tool import Tool
from .protocol.usage import Usage

__version__ = "0.1.0"

tools = DEFAULT
"""The process-wide default registry, which an `Agent` uses where it is given none."""

__all__ = [
    "HOLD",
    "Activity",
    "Agent",
    "Call",
    "Config",
    "Context",
    "Idea",
    "Limits",
    "Output",
    "Result",
    "Solution",
    "Stream",
    "Tool",
    "Tools",
    "Usage",
    "approvals",
    "errors",
    "events",
    "messages",
    "models",
    "tools",
]
