"""Put secrets of the operator into the headers of a tool, and mask them in what comes back.

A header names a variable of the service's environment, as `Bearer ${AGENT_TOOL_LIBRARY}`. The
variable holds the host that may get the secret, a space, and the secret itself. An owner of
a project can therefore not send a secret to a host of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

from django.conf import settings

from agents.tools.tool import ToolFailure
from agents.tools.tool_hosts import matches
from common.outbound import SCHEMES

PLACEHOLDER = re.compile(r"\$\{([^{}]{0,100})\}")
VARIABLE = re.compile(r"AGENT_TOOL_[A-Z0-9_]{1,64}")


def find_names(headers: Mapping[str, str]) -> Iterator[str]:
    """Yield the variables that headers name."""
    for value in headers.values():
        yield from PLACEHOLDER.findall(value)


def read_values(headers: Mapping[str, str], url: str) -> dict[str, str]:
    """Return the secrets of headers by the names of their variables; raise ToolFailure."""
    return {name: _read_value(name, url) for name in find_names(headers)}


def _read_value(name: str, url: str) -> str:
    if name not in settings.AGENT_TOOL_SECRETS:
        raise ToolFailure(
            f"The variable {name}, which a header of this tool names, is not set. The "
            "operator of the service sets it."
        )
    allowed, _, value = settings.AGENT_TOOL_SECRETS[name].partition(" ")
    parts = urlsplit(url)
    port = parts.port or SCHEMES[parts.scheme]
    if not matches(allowed, parts.hostname or "", port):
        raise ToolFailure(
            f"The variable {name} is for another host than that of this tool. The operator "
            "of the service writes the host in front of the secret."
        )
    return str(value)


def fill_headers(
    headers: Mapping[str, str], values: Mapping[str, str]
) -> dict[str, str]:
    return {
        name: PLACEHOLDER.sub(lambda match: values[match[1]], value)
        for name, value in headers.items()
    }


def mask_values(text: str, values: Mapping[str, str]) -> str:
    """Replace each secret in a text by `[secret:NAME]`."""
    # The longest first: a secret may contain another one.
    for name, value in sorted(values.items(), key=lambda pair: -len(pair[1])):
        text = text.replace(value, f"[secret:{name}]")
    return text
