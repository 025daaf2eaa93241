"""The hosts that belong to a project: its repository's, and those that an owner trusts."""

from __future__ import annotations

import re

from projects.models import Project

# Hosts that many owners share. There only the owner's part of the path belongs to a project.
SHARED_HOSTS = frozenset(
    {
        "bitbucket.org",
        "codeberg.org",
        "dev.azure.com",
        "gitee.com",
        "github.com",
        "gitlab.com",
        "sourceforge.net",
        "sr.ht",
        "git.sr.ht",
    }
)
# `https://user@host:8443/owner/name`, `ssh://git@host/owner/name` and `git@host:owner/name`.
ADDRESS = re.compile(
    r"(?:[a-z][a-z0-9+.-]*://)?(?:[^@/\s]*@)?(?P<host>[a-z0-9.-]+)(?::\d+)?[:/]+"
    r"(?P<owner>[^/\s]*)",
    re.IGNORECASE,
)


def find_own_hosts(project: Project) -> frozenset[str]:
    """Return hosts, or a host and a path, which texts of the project may name."""
    own = {_repository_host(project.repository_url)} - {""}
    return frozenset(own.union(project.options.trusted_hosts))


def _repository_host(url: str) -> str:
    found = ADDRESS.match(f"{url.strip()}/")
    if found is None:
        return ""
    host, owner = found["host"].lower().strip("."), found["owner"]
    if host.removeprefix("www.") not in SHARED_HOSTS:
        return host if "." in host else ""
    return f"{host}/{owner}" if owner else ""
