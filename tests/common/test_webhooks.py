"""A webhook goes to a public address, by the IP address that was checked."""

from __future__ import annotations

import socket
import ssl
import threading

import httpx2
import pytest

from common import webhooks


def resolving_to(monkeypatch, *numbers):
    asked = []

    def found(host, port, *more, **how):
        asked.append(host)
        kind = socket.AF_INET, socket.SOCK_STREAM, 0, ""
        return [(*kind, (number, port)) for number in numbers]

    monkeypatch.setattr(socket, "getaddrinfo", found)
    return asked


@pytest.mark.parametrize(
    "number",
    [
        "127.0.0.1",
        "127.1.2.3",
        "0.0.0.0",
        "10.0.0.8",
        "172.16.4.4",
        "192.168.1.1",
        "169.254.1.1",
        "100.64.0.1",
        "224.0.0.1",
        "255.255.255.255",
        "::1",
        "::",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.8",
        "fe80::1%eth0",
        "fd00::1",
        "ff02::1",
    ],
)
def test_a_private_address_is_refused(number, monkeypatch):
    resolving_to(monkeypatch, number)

    with pytest.raises(webhooks.WebhookRefused, match="inside the network"):
        webhooks.post("https://hooks.example.com/x", {})


def test_one_private_address_among_public_ones_is_refused(monkeypatch):
    resolving_to(monkeypatch, "93.184.216.34", "127.0.0.1")

    with pytest.raises(webhooks.WebhookRefused):
        webhooks.resolve("hooks.example.com", 443)


def test_a_public_address_is_allowed(monkeypatch):
    resolving_to(monkeypatch, "93.184.216.34")

    assert webhooks.resolve("hooks.example.com", 443) == ["93.184.216.34"]


def test_it_tries_the_next_address_of_a_host(monkeypatch, settings):
    settings.WEBHOOK_PRIVATE = True
    asked = []

    def sent(target, number, body):
        asked.append(number)
        if number == "::1":
            raise httpx2.ConnectError("no route")
        return 204

    resolving_to(monkeypatch, "::1", "127.0.0.1")
    monkeypatch.setattr(webhooks, "_send", sent)

    webhooks.post("https://hooks.example.com/", {})

    assert asked == ["::1", "127.0.0.1"]


def test_a_name_is_resolved_once(monkeypatch, settings):
    settings.WEBHOOK_PRIVATE = True
    asked = resolving_to(monkeypatch, "127.0.0.1")

    with pytest.raises(webhooks.WebhookFailed):
        webhooks.post("http://rebinding.example:1/", {})

    assert [host for host in asked if host != "127.0.0.1"] == ["rebinding.example"]


def test_the_certificate_must_match_the_name(settings, monkeypatch):
    settings.WEBHOOK_PRIVATE = True
    named = []
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.sni_callback = lambda sock, name, of: named.append(name)
    listening = socket.create_server(("127.0.0.1", 0))
    resolving_to(monkeypatch, "127.0.0.1")

    def shake_hands():
        taken, _ = listening.accept()
        # There is no certificate: only what the client asks for is looked at.
        with taken, pytest.raises(ssl.SSLError):
            context.wrap_socket(taken, server_side=True)

    server = threading.Thread(target=shake_hands)
    server.start()
    with pytest.raises(webhooks.WebhookFailed):
        webhooks.post(f"https://hooks.example:{listening.getsockname()[1]}/", {})
    server.join(timeout=10)
    listening.close()

    assert named == ["hooks.example"]


def test_an_unknown_name_is_a_failure_that_can_pass(monkeypatch):
    def unknown(*args, **how):
        raise socket.gaierror

    monkeypatch.setattr(socket, "getaddrinfo", unknown)

    with pytest.raises(webhooks.WebhookFailed, match="is not found"):
        webhooks.post("https://nowhere.example/", {})


@pytest.mark.parametrize(
    "url",
    [
        "ftp://example.com",
        "//example.com",
        "example.com",
        "https://",
        "https://a@example.com",
        "https://example.com:x/",
        "https://[::1",
        "https://example.com/\n",
        "",
    ],
)
def test_other_addresses_are_refused(url):
    assert not webhooks.is_webhook_url(url)
    with pytest.raises(webhooks.WebhookRefused):
        webhooks.post(url, {})
