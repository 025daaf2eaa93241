"""A scripted model server on loopback that speaks OpenAI's chat completions API.

    def test_it_answers(model):
        model.script(
            call("search", {"q": "x"}),          # function calling
            say("Thought: done\nFinal Answer: 42"),  # text
        )
        ...
        assert "42" in model.prompts[1]

`model` is the fixture of `tests/agents/conftest.py`: it starts the server and points the
settings at it. `model.script_json({...})` answers the questions of `inference.language.client`
(those with a `response_format`), whatever the chats say in the meantime. Nothing sleeps: a
reply that waits, waits for an event that the test sets.
"""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MOST_WAIT = 30  # seconds; a test that fails must still end


@dataclass
class Reply:
    """One answer of the server, and how it comes."""

    text: str = ""
    # Calls of functions: (name, arguments); arguments that are a text are sent as they are.
    calls: tuple[tuple[str, object], ...] = ()
    # Characters of one piece of text or of arguments; None sends each whole.
    piece: int | None = None
    # Bytes of one write to the socket; None writes an event at a time.
    write: int | None = None
    reason: str | None = None
    usage: tuple[int, int] | None = None
    has_done: bool = True
    # End the connection after so many events, without an end of the answer.
    cut_after: int | None = None
    # Wait for the event before the headers, and before the piece of that number.
    wait: threading.Event | None = None
    wait_at: dict[int, threading.Event] = field(default_factory=dict)
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    # The body itself, instead of an answer.
    raw: bytes | None = None
    raw_type: str = "application/json"
    # Whether to stream; None does what the request asks for.
    is_streamed: bool | None = None
    # Set by the server: the headers are sent; all is sent; the client left before.
    started: threading.Event = field(default_factory=threading.Event)
    ended: threading.Event = field(default_factory=threading.Event)
    left: threading.Event = field(default_factory=threading.Event)

    def content(self, asks_for_stream: bool) -> tuple[str, Iterator[bytes]]:
        """Return the content type, and what is written, an event at a time."""
        if self.raw is not None:
            return self.raw_type, iter([self.raw])
        if asks_for_stream if self.is_streamed is None else self.is_streamed:
            return "text/event-stream", self.events()
        return "application/json", iter([self.whole()])

    def message(self):
        message = {"role": "assistant", "content": self.text or None}
        if self.calls:
            message["tool_calls"] = [
                {
                    "id": f"call_{index}",
                    "type": "function",
                    "function": {"name": name, "arguments": _arguments(arguments)},
                }
                for index, (name, arguments) in enumerate(self.calls)
            ]
        return message

    def finish_reason(self):
        return self.reason or ("tool_calls" if self.calls else "stop")

    def counted(self):
        if self.usage is None:
            return None
        prompt, answer = self.usage
        return {"prompt_tokens": prompt, "completion_tokens": answer}

    def whole(self) -> bytes:
        choice = {"index": 0, "message": self.message()}
        choice["finish_reason"] = self.finish_reason()
        body = {"object": "chat.completion", "choices": [choice]}
        return json.dumps(body | {"usage": self.counted()}).encode()

    def events(self) -> Iterator[bytes]:
        for delta in self.deltas():
            yield event({"index": 0, "delta": delta, "finish_reason": None})
        yield event({"index": 0, "delta": {}, "finish_reason": self.finish_reason()})
        if self.usage:
            yield _data({"choices": [], "usage": self.counted()})
        if self.has_done:
            yield b"data: [DONE]\n\n"

    def deltas(self):
        yield {"role": "assistant", "content": ""}
        for piece in _cut(self.text, self.piece):
            yield {"content": piece}
        for index, (name, arguments) in enumerate(self.calls):
            function = {"name": name, "arguments": ""}
            start = {"index": index, "id": f"call_{index}", "type": "function"}
            yield {"tool_calls": [{**start, "function": function}]}
            for piece in _cut(_arguments(arguments), self.piece):
                part = {"index": index, "function": {"arguments": piece}}
                yield {"tool_calls": [part]}


def say(text: str, **how) -> Reply:
    """Answer a text."""
    return Reply(text=text, **how)


def call(name: str, arguments: object = None, **how) -> Reply:
    """Call a function; `text` may say something before it."""
    return Reply(calls=((name, {} if arguments is None else arguments),), **how)


def fail(status: int, message: str = "no", **headers: str) -> Reply:
    """Refuse: `fail(429, retry_after="0.01")`."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    body = json.dumps({"error": {"message": message}}).encode()
    return Reply(status=status, headers=named, raw=body)


def raw(content: bytes, content_type: str = "text/event-stream", **how) -> Reply:
    """Answer these bytes."""
    return Reply(raw=content, raw_type=content_type, **how)


def event(choice) -> bytes:
    return _data({"object": "chat.completion.chunk", "choices": [choice]})


def _data(value) -> bytes:
    return f"data: {json.dumps(value, ensure_ascii=False)}\n\n".encode()


def _arguments(arguments: object) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments)


def _cut(text: str, size: int | None) -> list[str]:
    size = size or max(len(text), 1)
    return [text[at : at + size] for at in range(0, len(text), size)]


class ScriptedEndpoint:
    """The server: what it was asked, and what it answers next."""

    def __init__(self) -> None:
        self.url = ""
        self.requests: list[dict] = []  # the bodies of the chats
        self.json_requests: list[dict] = []  # the bodies of the questions for JSON
        self.authorizations: list[str | None] = []
        self.replies: deque[Reply] = deque()
        self.json_replies: deque[Reply] = deque()
        # Answers a chat for which no reply is left.
        self.respond: Callable[[dict], Reply] = lambda body: fail(500, "no reply left")
        self._lock = threading.Lock()
        self._released = threading.Event()

    def script(self, *replies: Reply) -> None:
        """Answer the next chats with these, in order."""
        self.replies.extend(replies)

    def script_json(self, *answers: dict | Reply) -> None:
        """Answer the next questions for JSON with these objects, in order."""
        self.json_replies.extend(
            each if isinstance(each, Reply) else say(json.dumps(each))
            for each in answers
        )

    @property
    def prompts(self) -> list[str]:
        """The text of all messages of each chat."""
        return [_text_of(body) for body in self.requests]

    @property
    def json_prompts(self) -> list[str]:
        return [_text_of(body) for body in self.json_requests]

    def reply_to(self, body: dict) -> Reply:
        with self._lock:
            if "response_format" in body:
                self.json_requests.append(body)
                replies = self.json_replies
                return replies.popleft() if replies else fail(400, "no JSON left")
            self.requests.append(body)
            if self.replies:
                return self.replies.popleft()
        return self.respond(body)

    def hold(self, moment: threading.Event | None) -> None:
        """Wait until the test sets the event, or the server stops."""
        while moment and not moment.wait(0.02):
            if self._released.is_set():
                return

    def release(self) -> None:
        self._released.set()


def _text_of(body: dict) -> str:
    texts = []
    for message in body["messages"]:
        texts.append(message.get("content") or "")
        for each in message.get("tool_calls") or ():
            texts.append(f"{each['function']['name']} {each['function']['arguments']}")
    return "\n".join(texts)


@contextmanager
def serve() -> Iterator[ScriptedEndpoint]:
    """Run a server until the end of the block."""
    endpoint = ScriptedEndpoint()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler_of(endpoint))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    endpoint.url = f"http://127.0.0.1:{server.server_port}/v1"
    try:
        yield endpoint
    finally:
        endpoint.release()
        server.shutdown()
        thread.join(MOST_WAIT)
        server.server_close()


def _handler_of(endpoint: ScriptedEndpoint):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            self.close_connection = True
            size = int(self.headers["Content-Length"])
            body = json.loads(self.rfile.read(size))
            reply = endpoint.reply_to({"path": self.path, **body})
            endpoint.authorizations.append(self.headers["Authorization"])
            try:
                endpoint.hold(reply.wait)
                self.answer(*reply.content(bool(body.get("stream"))), reply)
            except ConnectionError:
                reply.left.set()

        def answer(self, content_type, events, reply):
            """Write the headers and the events, in chunks of HTTP/1.1."""
            self.send_response(reply.status)
            headers = {"Content-Type": content_type, **reply.headers}
            headers |= {"Transfer-Encoding": "chunked", "Connection": "close"}
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            reply.started.set()
            for number, content in enumerate(events):
                endpoint.hold(reply.wait_at.get(number))
                if number == reply.cut_after:
                    return
                self.write_parts(content, reply.write or len(content))
            self.wfile.write(b"0\r\n\r\n")
            reply.ended.set()

        def write_parts(self, content, size):
            for at in range(0, len(content), size):
                part = content[at : at + size]
                self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
                self.wfile.flush()

        def log_message(self, format, *args):
            pass

    return Handler
