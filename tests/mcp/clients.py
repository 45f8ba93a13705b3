"""Calls the tools of the example `mcp_server` with the clients of other projects.

clients.py URL COMMAND: the address of a running server, and the program that serves on stdio.
"""

import asyncio
import sys

from fastmcp import Client as FastClient
from fastmcp.client.transports import StdioTransport
from mcp import Client, StdioServerParameters


def check(condition, *about):
    if not condition:
        raise SystemExit(f"failed: {about}")


async def official(target, mode):
    """The client of the official SDK for Python."""
    async with Client(target, mode=mode) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        check(set(tools) == {"add", "delete_note", "forecast"}, set(tools))
        result = await client.call_tool("add", {"a": 2, "b": 3})
        check(result.content[0].text == "5.0", result)
        result = await client.call_tool("forecast", {"city": "Oslo"})
        check(result.structured_content == {"celsius": 4.0, "sky": "clear"}, result)
        result = await client.call_tool("add", {"a": "two"})
        check(result.is_error and "`a`" in result.content[0].text, result)
        prompt = await client.get_prompt("travel", {"city": "Oslo"})
        check("Oslo" in prompt.messages[0].content.text, prompt)
        resource = await client.read_resource("about://server")
        check(resource.contents[0].text == "An example.", resource)


async def fast(target):
    """The client of fastmcp."""
    async with FastClient(target) as client:
        names = {tool.name for tool in await client.list_tools()}
        check(names == {"add", "delete_note", "forecast"}, names)
        result = await client.call_tool("forecast", {"city": "Oslo"})
        check(result.structured_content == {"celsius": 4.0, "sky": "clear"}, result)


async def main(url, command):
    for mode in ("auto", "legacy"):
        for target in (url, StdioServerParameters(command=command, args=[])):
            await official(target, mode)
            print(f"mcp, {mode}: {target if target is url else 'stdio'}")
    for target in (url, StdioTransport(command=command, args=[])):
        await fast(target)
        print(f"fastmcp: {target if target is url else 'stdio'}")


asyncio.run(main(*sys.argv[1:]))
