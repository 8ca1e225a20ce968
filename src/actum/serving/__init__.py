"""Ideas served to other programs: over HTTP in three dialects, over MCP, and the Studio (extra `serve`)."""

from .http import Served
from .stdio import stdio

__all__ = ["Served", "stdio"]
