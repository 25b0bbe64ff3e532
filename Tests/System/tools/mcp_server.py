"""A server of tools of PyPI's packages `mcp` and `fastmcp`, of the kind of the environment that runs it.

`python mcp_server.py PACKAGE [PORT]`: by HTTP if there is a port, or else on standard input and output.
"""

import os
import sys

package, port = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else None
if package == "fastmcp":
    from fastmcp import FastMCP
    server = FastMCP("counting")
elif package == "mcp":
    from mcp.server import MCPServer
    server = MCPServer("counting")
else:  # the first major version of mcp, which has handshakes only
    from mcp.server.fastmcp import FastMCP
    server = FastMCP("counting", **({} if port is None else {"port": port}))


@server.tool()
def add(a: int, b: int) -> str:
    """Adds two numbers, and names the process."""
    return f"{a + b} by {os.getpid()}"


@server.tool()
def fail() -> str:
    """Fails."""
    raise ValueError("no luck")


@server.tool()
def die() -> str:
    """Ends the server."""
    os._exit(3)


if port is None:
    server.run()
elif package == "fastmcp":
    server.run(transport="http", port=port)
elif package == "mcp":
    server.run(transport="streamable-http", port=port)
else:
    server.run(transport="streamable-http")
