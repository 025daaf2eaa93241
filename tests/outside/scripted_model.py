"""A language model on loopback that plays a script, in the Responses API that Codex speaks."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def call(call_id, command):
    """The turn in which the model runs a shell command."""
    return {
        "type": "function_call",
        "call_id": call_id,
        "name": "exec_command",
        "arguments": json.dumps({"cmd": command}),
    }


def say(text):
    """The turn in which the model answers."""
    return {
        "type": "message",
        "role": "assistant",
        "id": "answer",
        "content": [{"type": "output_text", "text": text}],
    }


@contextmanager
def scripted_model(turns):
    """Serve the turns, one for each request; yield the address and the requests so far."""
    requests = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.answer("application/json", '{"data": [], "models": []}')

        def do_POST(self):
            length = int(self.headers["Content-Length"])
            requests.append(json.loads(self.rfile.read(length)))
            item = turns[min(len(requests), len(turns)) - 1]
            name = f"response-{len(requests)}"
            usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
            done = {"id": name, "output": [item], "usage": usage}
            events = [
                {"type": "response.created", "response": {"id": name}},
                {"type": "response.output_item.done", "output_index": 0, "item": item},
                {"type": "response.completed", "response": done},
            ]
            self.answer(
                "text/event-stream",
                "".join(
                    f"event: {one['type']}\ndata: {json.dumps(one)}\n\n"
                    for one in events
                ),
            )

        def answer(self, kind, text):
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(text.encode())))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *parts):
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", requests
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
