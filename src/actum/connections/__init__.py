"""Tools of other programs: MCP servers, connected for as long as a block lasts (extra `mcp`).

```python
async with actum.connections.open("mcp.json") as servers:
    servers.register(tools)
```
"""

from .connection import Connection
from .pins import Drift, Pins
from .server import Server
from .servers import LeftOut, Servers
from .servers import open_servers as open  # noqa: A004 -- the public name

__all__ = ["Connection", "Drift", "LeftOut", "Pins", "Server", "Servers", "open"]
