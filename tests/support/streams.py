"""Read a streaming response to its end, as the web server does."""

from __future__ import annotations

from asgiref.sync import async_to_sync


def read_stream(response):
    if not response.is_async:
        return b"".join(response.streaming_content)

    async def read():
        return b"".join([chunk async for chunk in response.streaming_content])

    return async_to_sync(read)()
