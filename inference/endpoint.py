"""Post requests to an OpenAI-compatible endpoint. This module takes a second to import."""

from __future__ import annotations

import json
import math
import socket
import threading
import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import httpx2
import openai
from openai._types import RequestOptions

from inference.errors import (
    BadAnswer,
    InferenceError,
    ProviderDown,
    ProviderTimeout,
    RateLimitError,
    RequestRefusal,
)
from inference.json_text import make_storable

# 2,048 texts (the most a hosted endpoint takes) of 1,536 numbers are about 64 MB.
MAX_ANSWER_BYTES = 64 * 1024 * 1024  # bytes
MIN_WAIT = 0.01  # seconds; with 0 the socket would not wait at all
MAX_WAIT = 3600.0  # seconds; a longer Retry-After would stop a job for too long
RETRYABLE_STATUSES = {408, 409, 425}
NOT_IMPLEMENTED = 501  # another attempt later gets the same answer
MAX_QUOTED = 200  # characters of the provider's message that are passed on


class Endpoint:
    def __init__(self, *, url: str, key: str, timeout: float) -> None:
        self._key = key
        self._timeout = timeout
        self._client = openai.OpenAI(
            base_url=url,
            # The key is never None, because the client would then send OPENAI_API_KEY to
            # any URL that is set.
            api_key=key or "unused",
            timeout=timeout,
            # The caller retries, so the client does not. The client would sleep for the
            # Retry-After.
            max_retries=0,
            http_client=openai.DefaultHttpxClient(transport=_BoundedTransport()),
        )

    def post(
        self, path: str, body: Mapping[str, object], *, timeout: float | None = None
    ) -> Any:
        """Post a request and return the decoded JSON answer, within about the timeout.

        `timeout`, in seconds, replaces the endpoint's own timeout.
        """
        options: RequestOptions = {} if timeout is None else {"timeout": timeout}
        with _translate_errors(self._key):
            response = self._client.post(
                path, body=body, cast_to=httpx2.Response, options=options
            )
        try:
            return json.loads(response.content)
        except (ValueError, RecursionError) as error:
            raise BadAnswer(f"{path} did not answer with JSON.") from error

    def stream(
        self, path: str, body: Mapping[str, object], *, timeout: float | None = None
    ) -> Generator[bytes, None, None]:
        """Post a request and yield the bytes of the answer as they arrive.

        `timeout`, in seconds, holds for the whole answer. Closing the iterator closes the
        connection, so that the server can stop.
        """
        timeout = self._timeout if timeout is None else timeout
        deadline = time.monotonic() + timeout
        options: RequestOptions = {"timeout": timeout}
        with _translate_errors(self._key):
            answer = self._client.post(
                path,
                body=body,
                cast_to=object,
                options=options,
                stream=True,
                stream_cls=openai.Stream[object],
            )
            with closing(answer.response), _shut_at(deadline, answer.response):
                yield from answer.response.iter_bytes()


@contextmanager
def _translate_errors(key: str) -> Iterator[None]:
    try:
        yield
    except (openai.APITimeoutError, httpx2.TimeoutException) as error:
        raise ProviderTimeout from error
    except openai.APIStatusError as error:
        raise _error_of_status(error, key) from error
    except (openai.APIConnectionError, httpx2.HTTPError) as error:
        cause = error.__cause__ or error
        raise ProviderDown(f"The model provider cannot be reached: {cause}") from error


@contextmanager
def _shut_at(deadline: float, response: httpx2.Response) -> Iterator[None]:
    """Shut the connection at the deadline, even while nobody reads.

    A read waits as long as was left when the answer began, however late the read begins.
    """
    connection = response.extensions["network_stream"].get_extra_info("socket")
    is_late = threading.Event()

    def shut() -> None:
        is_late.set()
        with suppress(OSError):  # it is closed already
            socket.socket.shutdown(connection, socket.SHUT_RDWR)

    timer = threading.Timer(max(deadline - time.monotonic(), MIN_WAIT), shut)
    timer.daemon = True
    timer.start()
    try:
        yield
    except httpx2.HTTPError as error:
        if not is_late.is_set():
            raise
        raise httpx2.ReadTimeout("the answer does not end") from error
    finally:
        timer.cancel()
    if is_late.is_set():
        raise httpx2.ReadTimeout("the answer does not end")


def _error_of_status(error: openai.APIStatusError, key: str) -> InferenceError:
    status = error.status_code
    # Errors are stored and displayed, and some servers repeat the key in their errors.
    message = error.message.replace(key, "[key]") if key else error.message
    detail = (
        f"The model provider answered {status}: {make_storable(message[:MAX_QUOTED])}"
    )
    wait = retry_after(error.response.headers.get("retry-after"))
    if status == 429:
        return RateLimitError(detail, retry_after=wait)
    if status in RETRYABLE_STATUSES or (status >= 500 and status != NOT_IMPLEMENTED):
        return ProviderDown(detail, retry_after=wait)
    return RequestRefusal(detail, status=status)


def retry_after(header: str | None) -> float | None:
    """Return the seconds of a Retry-After header, which holds seconds or a date."""
    if not header:
        return None
    try:
        seconds = float(header)
    except ValueError:
        seconds = _seconds_until(header)
    return min(max(seconds, 0.0), MAX_WAIT) if math.isfinite(seconds) else None


def _seconds_until(date: str) -> float:
    try:
        moment = parsedate_to_datetime(date)
    except ValueError:
        return math.nan
    return (moment.astimezone(UTC) - datetime.now(UTC)).total_seconds()


class _BoundedTransport(httpx2.HTTPTransport):
    """Limit the time and the size of an answer.

    The client's own timeout starts again with every byte that arrives."""

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        timeouts = request.extensions["timeout"]
        deadline = time.monotonic() + timeouts["read"]
        response = super().handle_request(request)
        # The read timeout is the rest of the time. Otherwise an answer that stops half-way
        # would get the whole timeout again.
        timeouts["read"] = max(deadline - time.monotonic(), MIN_WAIT)
        if isinstance(response.stream, httpx2.SyncByteStream):
            response.stream = _BoundedStream(response.stream, deadline=deadline)
        return response


class _BoundedStream(httpx2.SyncByteStream):
    def __init__(self, stream: httpx2.SyncByteStream, *, deadline: float) -> None:
        self._stream = stream
        self._deadline = deadline

    def __iter__(self) -> Iterator[bytes]:
        size = 0
        for chunk in self._stream:
            size += len(chunk)
            if size > MAX_ANSWER_BYTES:
                raise httpx2.ReadError("the answer is too large")
            if time.monotonic() > self._deadline:
                raise httpx2.ReadTimeout("the answer does not end")
            yield chunk

    def close(self) -> None:
        self._stream.close()
