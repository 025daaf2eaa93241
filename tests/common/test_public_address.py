"""Whether the service may send a request to an IP address."""

from __future__ import annotations

import ipaddress
import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common import public_address, webhooks

PRIVATE = [
    *["0.0.0.0", "0.1.2.3", "10.0.0.1", "127.0.0.1", "127.255.255.254"],
    *["100.64.0.1", "100.127.255.255", "169.254.1.1", "172.16.0.1", "172.31.255.255"],
    *["192.0.0.8", "192.0.2.1", "192.88.99.1", "192.168.0.1", "198.18.0.1"],
    *["198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1"],
    "255.255.255.255",
]
PUBLIC = ["1.1.1.1", "8.8.8.8", "93.184.216.34", "100.63.255.255", "172.32.0.1"]
PRIVATE_IPV6 = [
    *["::", "::1", "fe80::1", "fe80::1%eth0", "febf::1", "fec0::1", "feff::1"],
    *["fc00::1", "fdff::1", "ff02::1", "ff0e::1", "100::1", "2001:db8::1"],
    *["2001:2::1", "2001:10::1", "3fff::1", "5f00::1", "64:ff9b:1::1", "4000::1"],
    *["64:ff9b:1:808:808::", "2a00:1450::5efe:10.0.0.1", "fe80::5efe:8.8.8.8"],
]
PUBLIC_IPV6 = ["2606:4700::1111", "2a00:1450:4001:82a::200e", "2a00:1450::5efe:8.8.8.8"]

FORMS = {
    "mapped": lambda v4: f"::ffff:{v4}",
    "translated": lambda v4: f"::ffff:0:{v4}",
    "NAT64": lambda v4: f"64:ff9b::{v4}",
    "6to4": lambda v4: f"2002:{_groups(v4)}::1",
    "Teredo, client": lambda v4: f"2001:0:808:808::{_groups(v4, 0xFFFF)}",
    "Teredo, server": lambda v4: f"2001:0:{_groups(v4)}::f7f7:f7f7",
}


def _groups(v4, mask=0):
    """Write an IPv4 address as two groups of an IPv6 address, with inverted bits or not."""
    number = int(ipaddress.IPv4Address(v4))
    return f"{(number >> 16) ^ mask:x}:{(number & 0xFFFF) ^ mask:x}"


@pytest.mark.parametrize("ip", [*PRIVATE, *PRIVATE_IPV6])
def test_what_is_inside_a_network_is_not_public(ip):
    assert not public_address.is_public(ip)


@pytest.mark.parametrize("ip", [*PUBLIC, *PUBLIC_IPV6])
def test_the_internet_is_public(ip):
    assert public_address.is_public(ip)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("v4", PRIVATE)
def test_a_form_of_a_private_address_is_not_public(form, v4):
    assert not public_address.is_public(FORMS[form](v4))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("v4", PUBLIC)
def test_a_form_of_a_public_address_is_public(form, v4):
    assert public_address.is_public(FORMS[form](v4))


@pytest.mark.parametrize("v4", [v4 for v4 in PRIVATE if v4 != "0.0.0.0"])
def test_so_is_the_compatible_form(v4):
    assert not public_address.is_public(f"::{v4}")


@pytest.mark.parametrize(
    "metadata", sorted(map(str, public_address.METADATA_ADDRESSES))
)
def test_a_metadata_service_is_known_in_every_form(metadata):
    is_v4 = ":" not in metadata
    forms = [form(metadata) for form in FORMS.values()] if is_v4 else []

    assert all(map(public_address.is_metadata, [metadata, *forms]))


@pytest.mark.parametrize("private", [True, False])
@pytest.mark.parametrize(
    "ip", ["169.254.169.254", "::ffff:a9fe:a9fe", "64:ff9b::a9fe:a9fe", "168.63.129.16"]
)
def test_no_setting_allows_a_metadata_service(ip, private, settings, monkeypatch):
    settings.WEBHOOK_PRIVATE = private
    found = [(socket.AF_INET6, socket.SOCK_STREAM, 0, "", (ip, 80))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **how: found)

    with pytest.raises(webhooks.WebhookRefused, match="metadata service"):
        webhooks.post("http://hooks.example.com/", {})


@pytest.mark.parametrize(
    "host", ["metadata.google.internal", "Metadata.Google.Internal.", "metadata"]
)
def test_its_names_are_refused_before_they_are_resolved(host, settings, monkeypatch):
    settings.WEBHOOK_PRIVATE = True
    monkeypatch.delattr(socket, "getaddrinfo")

    with pytest.raises(webhooks.WebhookRefused, match="metadata service"):
        webhooks.post(f"http://{host}/", {})


@pytest.mark.parametrize(
    "host",
    [
        *["2130706433", "0x7f000001", "017700000001", "127.1", "0x7f.1", "0177.0.0.1"],
        *["localhost", "localhost.", "LOCALHOST", "127.0.0.1.", "[::1]"],
        *["[::ffff:127.0.0.1]", "[64:ff9b:1::7f00:1]", "[fec0::1]", "0"],
    ],
)
def test_no_spelling_of_this_machine_is_sent_to(host):
    with pytest.raises((webhooks.WebhookRefused, webhooks.WebhookFailed)):
        webhooks.post(f"http://{host}:9/", {})


@given(st.ip_addresses(v=6))
def test_every_address_is_judged(address):
    assert public_address.is_public(str(address)) in (True, False)
    assert not (
        public_address.is_public(str(address))
        and public_address.is_metadata(str(address))
    )
