"""Many agents call the server at the same time."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connections

from memories.models import Memory
from playbook.models import Exposure
from tests.mcp_server.conftest import McpClient

pytestmark = pytest.mark.django_db(transaction=True)
CALLS = 64


def test_sixty_four_calls_at_once_are_answered(bob_mcp, project):
    bob_mcp.call("remember", content="The harbour opens at high tide.")
    barrier = threading.Barrier(CALLS)

    def call(number):
        client = McpClient(bob_mcp.api)
        try:
            barrier.wait(60)
            if number % 2:
                found = client.call("search", query="When does the harbour open?")
                return len(found["results"])
            content = f"Crane {number} of the harbour is green."
            return client.call("remember", content=content)["status"]
        finally:
            connections.close_all()

    with ThreadPoolExecutor(CALLS) as threads:
        answers = list(threads.map(call, range(CALLS)))

    assert answers.count("stored") == CALLS // 2
    assert all(found for found in answers if found != "stored")
    assert Memory.objects.filter(project=project).count() == CALLS // 2 + 1
    assert not Exposure.objects.exists()
