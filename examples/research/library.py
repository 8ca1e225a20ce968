"""An MCP server: a small library of texts, to be searched and read. `python library.py FOLDER`."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from mcp.server import MCPServer
from mcp_types import ToolAnnotations
from typing_extensions import TypedDict

library = MCPServer("library")
FOLDER = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
READS = ToolAnnotations(read_only_hint=True)


class Found(TypedDict):
    title: str
    passage: str


class Hits(TypedDict):
    hits: list[Found]


@library.tool(annotations=READS)
def search(word: str) -> Hits:
    """The first passage of each text that has the word."""
    hits: list[Found] = []
    for path in sorted(FOLDER.glob("[0-9]*.txt")):
        parts = re.split(r"\n\s*\n", path.read_text(encoding="utf-8"))
        passage = next((part for part in parts if re.search(rf"\b{re.escape(word)}\b", part, re.IGNORECASE)), None)
        if passage is not None:
            hits.append({"title": path.stem, "passage": " ".join(passage.split())[:600]})
    return {"hits": hits}


if __name__ == "__main__":
    library.run()
