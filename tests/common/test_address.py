from __future__ import annotations

import pytest
from django.test import RequestFactory

from common.address import client_address, client_network, is_loopback


@pytest.fixture
def behind(settings):
    def set_proxies(number):
        settings.REST_FRAMEWORK = settings.REST_FRAMEWORK | {"NUM_PROXIES": number}

    return set_proxies


def request(remote="10.0.0.1", **headers):
    return RequestFactory().get("/", REMOTE_ADDR=remote, headers=headers)


@pytest.mark.parametrize(
    ("proxies", "forwarded", "address"),
    [
        (0, "1.2.3.4", "10.0.0.1"),
        (1, "6.6.6.6, 1.2.3.4", "1.2.3.4"),
        (2, "6.6.6.6, 1.2.3.4, 5.6.7.8", "1.2.3.4"),
        (3, "1.2.3.4", "1.2.3.4"),
        (1, "<script>", ""),
        (1, "fe80::1%eth0", "fe80::1"),
    ],
)
def test_only_trusted_proxies_report_the_address(behind, proxies, forwarded, address):
    behind(proxies)

    assert client_address(request(**{"x-forwarded-for": forwarded})) == address


def test_without_a_proxy_it_is_the_peer(behind):
    behind(1)

    assert client_address(request()) == "10.0.0.1"
    assert client_address(request("")) == ""


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("1.2.3.4", "1.2.3.4"),
        ("::ffff:1.2.3.4", "1.2.3.4"),
        ("2001:db8::1", "2001:db8::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("", ""),
    ],
)
def test_a_client_of_ipv6_is_its_network(address, network):
    assert client_network({"REMOTE_ADDR": address}) == network


def test_loopback_is_this_machine_without_a_proxy():
    assert is_loopback(request("127.0.0.1"))
    assert is_loopback(request("::1"))
    assert not is_loopback(request("10.0.0.1"))
    assert not is_loopback(request(""))
    assert not is_loopback(request("127.0.0.1", **{"x-forwarded-for": "1.2.3.4"}))
