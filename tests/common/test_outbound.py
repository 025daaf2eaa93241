"""Whether the service may send a request to an IP address."""

from __future__ import annotations

import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common import outbound
from common.outbound import OutboundFailed, OutboundRefused, OutboundRules

REFUSED = {
    "loopback": ["127.0.0.1", "::1"],
    "unspecified": ["0.0.0.0", "::"],
    "private": ["10.0.0.1", "172.16.0.1", "192.168.0.1", "100.64.0.1", "fc00::1"],
    "link-local": ["169.254.1.1", "fe80::1", "fe80::1%eth0", "fec0::1"],
    "special": ["192.0.0.8", "192.88.99.1", "198.18.0.1", "2001:db8::1", "3fff::1"],
    "multicast": ["224.0.0.1", "ff0e::1"],
    "reserved": ["240.0.0.1", "255.255.255.255", "4000::1", "5f00::1"],
    "metadata of a cloud": ["169.254.169.254", "fd00:ec2::254"],
    "mapped": ["::ffff:10.0.0.1", "::ffff:127.0.0.1", "::ffff:169.254.169.254"],
    "translated": ["::ffff:0:10.0.0.1"],
    "compatible": ["::10.0.0.1"],
    "6to4": ["2002:a00:1::1", "2002:7f00:1::1", "2002:a9fe:a9fe::1"],
    "client of Teredo": ["2001:0:808:808::f5ff:fffe"],
    "server of Teredo": ["2001:0:a00:1::f7f7:f7f7"],
    "NAT64": ["64:ff9b::10.0.0.1", "64:ff9b::127.0.0.1", "64:ff9b::169.254.169.254"],
    "NAT64 of a network": ["64:ff9b:1::1", "64:ff9b:1::8.8.8.8", "64:ff9b:1:808:808::"],
}
PUBLIC = {
    "IPv4": ["1.1.1.1", "8.8.8.8", "100.63.255.255", "172.32.0.1"],
    "IPv6": ["2606:4700::1111", "2a00:1450:4001:82a::200e"],
    "mapped": ["::ffff:8.8.8.8"],
    "6to4": ["2002:808:808::1"],
    "Teredo": ["2001:0:808:808::f7f7:f7f7"],
    "NAT64": ["64:ff9b::8.8.8.8"],
}
METADATA = [
    *("169.254.169.254", "::ffff:a9fe:a9fe", "64:ff9b::a9fe:a9fe", "168.63.129.16"),
    *("2002:a9fe:a9fe::1", "64:ff9b:1::a9fe:a9fe", "fd00:ec2::254"),
]


@pytest.mark.parametrize("form", REFUSED)
def test_what_is_inside_a_network_is_not_public(form):
    assert [ip for ip in REFUSED[form] if outbound.is_public(ip)] == []


@pytest.mark.parametrize("form", PUBLIC)
def test_the_internet_is_public(form):
    assert [ip for ip in PUBLIC[form] if not outbound.is_public(ip)] == []


def rules(*, is_allowed):
    return OutboundRules("server", "ask for it.", lambda host, port: is_allowed)


@pytest.mark.parametrize("is_allowed", [True, False])
def test_no_rule_allows_a_metadata_service(is_allowed, monkeypatch):
    for ip in METADATA:
        found = [(socket.AF_INET6, socket.SOCK_STREAM, 0, "", (ip, 80))]
        monkeypatch.setattr(
            socket, "getaddrinfo", lambda *args, found=found, **how: found
        )

        with pytest.raises(OutboundRefused, match="metadata service"):
            outbound.resolve("a.example.com", 80, rules(is_allowed=is_allowed))


def test_its_names_are_refused_before_they_are_resolved(monkeypatch):
    monkeypatch.delattr(socket, "getaddrinfo")

    for host in ("metadata.google.internal", "Metadata.Google.Internal.", "metadata"):
        with pytest.raises(OutboundRefused, match="metadata service"):
            outbound.resolve(host, 80, rules(is_allowed=True))


def test_no_spelling_of_this_machine_is_sent_to():
    for host in (
        *("2130706433", "0x7f000001", "017700000001", "127.1", "0x7f.1", "0177.0.0.1"),
        *("localhost", "localhost.", "LOCALHOST", "127.0.0.1.", "::1", "0"),
        *("::ffff:127.0.0.1", "64:ff9b:1::7f00:1", "fec0::1"),
    ):
        with pytest.raises((OutboundRefused, OutboundFailed)):
            outbound.resolve(host, 9, rules(is_allowed=False))


@given(st.ip_addresses())
def test_no_metadata_service_is_public(address):
    assert not (outbound.is_public(str(address)) and outbound.is_metadata(str(address)))
