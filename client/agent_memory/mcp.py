"""`am mcp`: the server's MCP tools for a harness that starts a command.

Each line on stdin is a message, which is posted to `/mcp/{project}` of the connection of the
folder; what comes back is written as lines. So no harness has a key in its configuration,
and one entry serves every connected project. Standard library only.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TextIO
from urllib.parse import quote

from agent_memory import connections, exchange
from agent_memory.connections import Connection
from agent_memory.errors import AgentMemoryError
from agent_memory.own_command import spell

TIMEOUT = 60.0  # seconds for a call of a tool
ACCEPT = "application/json, text/event-stream"
PARSE_ERROR, INTERNAL_ERROR = -32700, -32603  # JSON-RPC
VERSION_HEADER = "MCP-Protocol-Version"
PROTOCOL = "2025-06-18"  # of our own calls


def serve(folder: Path, lines: Iterable[bytes], out: TextIO) -> None:
    """Answer messages until stdin ends; what is no message is answered by an error."""
    connection = connections.find(folder, connections.read())
    protocol = ""
    for message in read_lines(lines):
        for answer in answer_message(connection, message, protocol):
            out.write(json.dumps(answer) + "\n")
            out.flush()
            result = answer.get("result")
            if message.get("method") == "initialize" and isinstance(result, dict):
                protocol = str(result.get("protocolVersion", ""))


def read_lines(lines: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    """Yield the messages of lines, also those of a batch; {} for what is no message.

    Only a line feed ends a line: a message may have any other character.
    """
    for line in lines:
        text = line.decode("utf-8-sig", "replace").strip()
        try:
            found = json.loads(text) if text else []
        except (ValueError, RecursionError):
            found = None
        for each in found if isinstance(found, list) else [found]:
            yield each if isinstance(each, dict) else {}


def answer_message(
    connection: Connection | None, message: dict[str, Any], protocol: str
) -> Iterator[dict[str, Any]]:
    """Yield the server's messages; an error in words if it has none."""
    if not message:
        error = {"code": PARSE_ERROR, "message": "The line is no message of JSON-RPC."}
        yield {"jsonrpc": "2.0", "id": None, "error": error}
        return
    if connection is None:
        yield from _refuse(
            message, f"This folder is not connected; run {spell('connect')} in it."
        )
        return
    try:
        answer = exchange.send(
            connection,
            "POST",
            _path_of(connection),
            body=json.dumps(message).encode(),
            headers={
                "Accept": ACCEPT,
                **({VERSION_HEADER: protocol} if protocol else {}),
            },
            timeout=TIMEOUT,
        )
        answers = list(read_messages(answer))
        if not answers:
            exchange.require_success(answer)
            if "id" in message:
                words = f"{connection.server} gave no answer of MCP"
                raise exchange.ExchangeError(words)
    except exchange.ExchangeError as error:
        yield from _refuse(message, f"{error}. {spell('doctor')} says what is wrong.")
        return
    yield from answers


def _path_of(connection: Connection) -> str:
    """The address of a project; without one, that of the only project of the key."""
    project = quote(connection.project_id, safe="")
    return f"/mcp/{project}" if project else "/mcp"


class ToolReply(NamedTuple):
    """What a tool answers, in words and as data."""

    text: str
    data: dict[str, Any]


def call_tool(
    connection: Connection, name: str, arguments: dict[str, Any]
) -> ToolReply:
    """Call a tool of the server; raise `AgentMemoryError` with its words if it refuses."""
    params = {"name": name, "arguments": arguments}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    answer = [*answer_message(connection, message, PROTOCOL)][-1]
    if "error" in answer:
        raise AgentMemoryError(answer["error"]["message"])
    result = answer["result"]
    text = result["content"][0]["text"]
    if result["isError"]:
        raise AgentMemoryError(text)
    return ToolReply(text, result["structuredContent"])


def read_messages(answer: exchange.WireAnswer) -> Iterator[dict[str, Any]]:
    """Yield the messages of a JSON answer or of an event stream."""
    content_type = {n.lower(): v for n, v in answer.headers.items()}.get(
        "content-type", ""
    )
    if content_type.startswith("text/event-stream"):
        for line in answer.body.decode().splitlines():
            if line.startswith("data:"):
                yield json.loads(line.removeprefix("data:"))
    elif isinstance(answer.data, dict) and "jsonrpc" in answer.data:
        yield answer.data


def _refuse(message: dict[str, Any], words: str) -> Iterator[dict[str, Any]]:
    if "id" in message:
        error = {"code": INTERNAL_ERROR, "message": words}
        yield {"jsonrpc": "2.0", "id": message["id"], "error": error}


def main(arguments: list[str]) -> None:
    folder = Path.cwd()
    if "--path" in arguments:
        folder = Path(arguments[arguments.index("--path") + 1])
    serve(folder, sys.stdin.buffer, sys.stdout)
