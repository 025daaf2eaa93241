"""Find the IP addresses for a request to an address that a user entered.

A host is resolved once, and the request goes to the IP address. A second look-up could return
another address. Somebody else may read the refusals, so no message names the address.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import urlsplit

SCHEMES = {"http": 80, "https": 443}
Address = ipaddress.IPv4Address | ipaddress.IPv6Address
# NAT64: the well-known prefix, and the one for use in a network. The IPv4 address stands in
# the last 32 bits (RFC 6052).
NAT64 = [ipaddress.ip_network(text) for text in ("64:ff9b::/96", "64:ff9b:1::/48")]
# What `is_global` of some supported Python versions calls global.
NOT_PUBLIC = [
    ipaddress.ip_network(text)
    for text in ("192.0.0.0/24", "192.88.99.0/24", "64:ff9b:1::/48", "3fff::/20")
]
# The services of the clouds that hand out credentials; no setting allows them.
METADATA_ADDRESSES = {
    ipaddress.ip_address(text)
    for text in (
        "169.254.169.254",  # AWS, Azure, Google, Oracle, DigitalOcean, OpenStack, IBM
        "169.254.170.2",  # AWS ECS
        "169.254.170.23",  # AWS EKS
        "169.254.169.253",  # AWS DNS
        "169.254.169.123",  # AWS time
        "169.254.42.42",  # Scaleway
        "169.254.0.23",  # Tencent
        "100.100.100.200",  # Alibaba
        "168.63.129.16",  # Azure
        "192.0.0.192",  # Oracle
        "fd00:ec2::254",  # AWS
        "fd00:ec2::23",  # AWS EKS
        "fd00:ec2::253",  # AWS DNS
        "fd20:ce::254",  # Google
        "fd00:42::42",  # Scaleway
        "fe80::a9fe:a9fe",  # OpenStack
    )
}
METADATA_HOSTS = {
    "metadata",
    "metadata.google.internal",
    "metadata.goog",
    "metadata.azure.com",
    "metadata.azure.internal",
    "metadata.tencentyun.com",
    "metadata.packet.net",
    "metadata.platformequinix.com",
    "instance-data",
    "instance-data.ec2.internal",
}


class OutboundRefused(Exception):
    """The address is not allowed; another attempt cannot help."""


class OutboundFailed(Exception):
    """The request was not answered as it should be; another attempt may succeed."""


@dataclass(frozen=True)
class OutboundRules:
    """Which hosts inside the network one kind of request may reach.

    `subject` names the receiver in refusals, and `remedy` says which setting allows it.
    `is_allowed` gets the host and the port of the address.
    """

    subject: str
    remedy: str
    is_allowed: Callable[[str, int], bool]


def is_http_url(url: str) -> bool:
    """Return whether a text is an http or https address with a host and without a password."""
    if not url.isprintable() or " " in url:
        return False
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return False
    return parts.scheme in SCHEMES and bool(parts.hostname) and "@" not in parts.netloc


def refuse_written_address(url: str, rules: OutboundRules) -> None:
    """Raise OutboundRefused if an address says by itself that nothing will be sent to it.

    The names of hosts are not looked up, because a name can lead elsewhere later.
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    host = "127.0.0.1" if host.rstrip(".") == "localhost" else host
    port = parts.port or SCHEMES.get(parts.scheme, 0)
    with suppress(OutboundFailed):  # the host is a name
        resolve(host, port, rules, flags=socket.AI_NUMERICHOST)


def resolve(host: str, port: int, rules: OutboundRules, *, flags: int = 0) -> list[str]:
    """Return the IP addresses of a host; refuse the host if one of them is not allowed."""
    _refuse_metadata(host.strip(".").lower() in METADATA_HOSTS, rules)
    try:
        records = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=flags)
    except (OSError, UnicodeError) as error:
        raise OutboundFailed(
            f"The host of the {rules.subject} is not found."
        ) from error
    ips = [str(address[0]) for *_, address in records]
    for ip in ips:
        _refuse_metadata(is_metadata(ip), rules)
        if not is_public(ip) and not rules.is_allowed(host, port):
            raise OutboundRefused(
                f"The host of the {rules.subject} is inside the network; {rules.remedy}"
            )
    return ips


def _refuse_metadata(is_metadata: bool, rules: OutboundRules) -> None:
    """Refuse a cloud's metadata service, which no setting allows."""
    if is_metadata:
        raise OutboundRefused(
            f"The {rules.subject} is a cloud's metadata service, which is never allowed."
        )


def is_public(ip: str) -> bool:
    """Return whether the address, and every address in it, is one of the public internet."""
    return all(map(_is_public, unwrap(ip)))


def is_metadata(ip: str) -> bool:
    """Return whether the address, or one in it, is a metadata service of a cloud."""
    return any(address in METADATA_ADDRESSES for address in unwrap(ip))


def _is_public(address: Address) -> bool:
    return (
        address.is_global
        and not address.is_multicast
        and not address.is_reserved
        and not getattr(address, "is_site_local", False)
        and not any(address in network for network in NOT_PUBLIC)
    )


def unwrap(ip: str) -> list[Address]:
    """Return the address, or the IPv4 addresses to which a gateway forwards its requests."""
    address = ipaddress.ip_address(ip.partition("%")[0])
    if isinstance(address, ipaddress.IPv4Address):
        return [address]
    found: list[Address] = [
        each for each in (address.ipv4_mapped, address.sixtofour) if each
    ]
    found += address.teredo or ()
    if any(address in network for network in NAT64):
        found.append(ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF))
    # Where a network places IPv4 addresses in its own prefix is not known.
    return [address, *found] if not found or address in NAT64[1] else found
