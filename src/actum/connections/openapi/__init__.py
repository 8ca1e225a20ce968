"""The operations of an OpenAPI document as tools, in the form in which MCP servers list theirs."""
