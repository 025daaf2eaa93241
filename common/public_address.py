"""Judge the IP addresses to which the service sends requests for its users.

An IPv6 address can contain an IPv4 address, to which a gateway of the network forwards the
request. Such an address is judged by every address that it contains.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

# {network: the bits below the embedded IPv4 address}
WRAPPERS = {
    ipaddress.IPv6Network("::ffff:0:0/96"): 0,  # mapped
    ipaddress.IPv6Network("::ffff:0:0:0/96"): 0,  # translated, RFC 2765
    ipaddress.IPv6Network("::/96"): 0,  # compatible, RFC 4291
    ipaddress.IPv6Network("64:ff9b::/96"): 0,  # NAT64, RFC 6052
    ipaddress.IPv6Network("2002::/16"): 80,  # 6to4, RFC 3056
}
# A network may place its IPv4 addresses at any of the lengths of RFC 6052 in this prefix.
LOCAL_NAT64 = ipaddress.IPv6Network("64:ff9b:1::/48")
TEREDO = ipaddress.IPv6Network("2001::/32")
ISATAP = (
    0x0000_5EFE,
    0x0200_5EFE,
)  # the upper half of the interface identifier, RFC 5214

# What `is_global` of some supported Python versions calls global.
NOT_PUBLIC = [
    ipaddress.ip_network(text)
    for text in (
        "0.0.0.0/8",
        "100.64.0.0/10",
        "192.0.0.0/24",
        "192.88.99.0/24",
        "198.18.0.0/15",
        "240.0.0.0/4",
        "64:ff9b:1::/48",
        "100::/64",
        "2001::/23",
        "2001:db8::/32",
        "2002::/16",
        "3fff::/20",
        "5f00::/16",
        "fc00::/7",
        "fe80::/10",
        "fec0::/10",
    )
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


def is_public(ip: str) -> bool:
    """Return whether the address, and every address in it, is one of the public internet."""
    return all(
        address.is_global
        and not address.is_multicast
        and not address.is_reserved
        and not any(address in network for network in NOT_PUBLIC)
        for address in unwrap(ip)
    )


def is_metadata(ip: str) -> bool:
    """Return whether the address, or one in it, is a metadata service of a cloud."""
    return any(address in METADATA_ADDRESSES for address in unwrap(ip))


def is_metadata_host(host: str) -> bool:
    return host.strip(".").lower() in METADATA_HOSTS


def unwrap(ip: str) -> list[Address]:
    """Return the address, or instead of a wrapper the addresses that it contains."""
    address = ipaddress.ip_address(ip.partition("%")[0])
    if isinstance(address, ipaddress.IPv4Address):
        return [address]
    if int(address) <= 1:  # unspecified and loopback are no wrappers
        return [address]
    return [*_unwrap_forms(address)] or [address]


def _unwrap_forms(address: ipaddress.IPv6Address) -> Iterator[Address]:
    number = int(address)
    for network, shift in WRAPPERS.items():
        if address in network:
            yield _low_32(number >> shift)
    if address in TEREDO:
        yield _low_32(number >> 64)  # the server
        yield _low_32(number ^ 0xFFFF_FFFF)  # the client, whose bits are inverted
    if address in LOCAL_NAT64:
        # Which length the network uses is unknown, so no address in it is public.
        yield address
        yield from _by_length(number)
    if (number >> 32) & 0xFFFF_FFFF in ISATAP:
        yield address
        yield _low_32(number)


def _by_length(number: int) -> Iterator[Address]:
    """Yield the IPv4 addresses at the lengths 48, 56, 64 and 96; bits 64 to 71 are skipped."""
    high, low = (number >> 64) & 0xFFFF, number & 0xFFFF_FFFF_FFFF_FFFF
    yield _low_32(high << 16 | (low >> 40) & 0xFFFF)
    yield _low_32((high & 0xFF) << 24 | (low >> 32) & 0xFF_FFFF)
    yield _low_32(low >> 24)
    yield _low_32(low)


def _low_32(number: int) -> ipaddress.IPv4Address:
    return ipaddress.IPv4Address(number & 0xFFFF_FFFF)
