"""An MCP server of the official package on loopback, in a thread."""

from __future__ import annotations

import threading
from contextlib import contextmanager

import uvicorn
from mcp.server.mcpserver import MCPServer
from mcp_types import ToolAnnotations

READ_ONLY = ToolAnnotations(read_only_hint=True)


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
