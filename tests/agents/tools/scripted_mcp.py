"""MCP servers on loopback: one of the official package, and one that a test scripts."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager

import uvicorn
from mcp.server.mcpserver import MCPServer
from mcp_types import ToolAnnotations

from tests.agents.tools.scripted_http import Scripted

READ_ONLY = ToolAnnotations(read_only_hint=True)
FIND = {"name": "find", "inputSchema": {"type": "object"}}


@contextmanager
def running(server: MCPServer, **options):
    """Serve until the block ends; yield the address of the server."""
    app = server.streamable_http_app(**options)
    config = uvicorn.Config(
        app, port=0, log_level="critical", lifespan="on", ws="none", loop="asyncio"
    )
    started = threading.Event()
    web = uvicorn.Server(config)

    async def startup(sockets=None):
        await uvicorn.Server.startup(web, sockets=sockets)
        started.set()

    web.startup = startup
    thread = threading.Thread(target=web.run)
    thread.start()
    try:
        assert started.wait(30)
        port = web.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        web.should_exit = True
        web.force_exit = True
        thread.join(30)


def offers(server, *tools, said="fine"):
    """Have a scripted server offer these tools; each call answers with the text `said`."""

    def script(received):
        if received.method != "POST":
            return Scripted(405)
        message = received.json
        if "id" not in message:
            return Scripted(202)
        if message["method"] == "initialize":
            result = {
                "protocolVersion": message["params"]["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "s", "version": "1"},
            }
        elif message["method"] == "tools/list":
            result = {"tools": list(tools)}
        elif message["method"] == "tools/call":
            text = said(received) if callable(said) else said
            result = {"content": [{"type": "text", "text": text}]}
        else:
            error = {"code": -32601, "message": "Method not found"}
            return reply(message, error=error)
        return reply(message, result=result)

    server.script = script


def reply(message, **content):
    body = json.dumps({"jsonrpc": "2.0", "id": message["id"], **content}).encode()
    headers = {"Content-Type": "application/json", "Mcp-Session-Id": "one"}
    return Scripted(200, body, headers)
