"""TOOL_HOSTS allows hosts inside the network by name and port, and refuses other texts."""

from __future__ import annotations

import pytest
from django.core.exceptions import ImproperlyConfigured

from agents.tools.tool_hosts import is_allowed
from memory_project.settings import hosts


@pytest.mark.parametrize(
    ("entry", "host", "port", "expected"),
    [
        ("crm.internal", "crm.internal", 80, True),
        ("crm.internal", "CRM.internal.", 8_443, True),
        ("crm.internal:8443", "crm.internal", 8_443, True),
        ("crm.internal:8443", "crm.internal", 443, False),
        ("crm.internal", "evil-crm.internal", 80, False),
        ("crm.internal", "internal", 80, False),
        ("localhost", "127.0.0.1", 80, False),
        ("127.0.0.1", "127.0.0.1", 80, True),
        ("[::1]:80", "::1", 80, True),
        ("[::1]", "127.0.0.1", 80, False),
    ],
)
def test_which_hosts_are_allowed(settings, entry, host, port, expected):
    settings.TOOL_HOSTS = ["other.internal", entry]

    assert is_allowed(host, port) is expected


def test_none_is_allowed_by_default(settings):
    settings.TOOL_HOSTS = []

    assert not is_allowed("crm.internal", 80)


def test_hosts_are_read_from_the_environment(monkeypatch):
    monkeypatch.setenv("TOOL_HOSTS", "crm.internal:80,[::1],10.0.0.1")

    assert hosts("TOOL_HOSTS", []) == ["crm.internal:80", "[::1]", "10.0.0.1"]


@pytest.mark.parametrize(
    "value",
    ["http://crm.internal", "crm:http", "crm:0", "crm:65536", "a/b", "u@crm", "*"],
)
def test_other_texts_are_refused_at_start(monkeypatch, value):
    monkeypatch.setenv("TOOL_HOSTS", value)

    with pytest.raises(ImproperlyConfigured, match="HOST or HOST:PORT"):
        hosts("TOOL_HOSTS", [])
