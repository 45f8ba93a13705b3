"""A server with one tool, by the SDK for Python or by fastmcp.

server.py mcp|fastmcp [PORT]: without a port it serves on stdio.
"""

import sys


def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


def main(library, port=None):
    if library == "mcp":
        from mcp.server import MCPServer as Server
    else:
        from fastmcp import FastMCP as Server
    server = Server("peer")
    server.tool()(add)
    if port is None:
        server.run(transport="stdio")
    else:
        server.run(transport="streamable-http", host="127.0.0.1", port=int(port))


main(*sys.argv[1:])
