"""The client of the service under test, for the plugins that run others' tests."""

from __future__ import annotations

import functools
import os
import uuid

from agent_memory import Client


@functools.cache
def client() -> Client:
    return Client(
        os.environ["OUTSIDE_URL"], os.environ["OUTSIDE_KEY"], project="outside"
    )


def unique_name() -> str:
    """A name that no other test uses, so that each test begins with nothing stored."""
    return uuid.uuid4().hex


def object_scope() -> dict[str, str]:
    return {"kind": "object", "object_type": "outside", "object_id": unique_name()}
