"""Ideas served to other programs (extra `serve`; `mcp` for hosts of MCP)."""
