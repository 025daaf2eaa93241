"""Recognize the calls whose results are somebody else's words: pages, mail, chats, tickets."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ace.rules import word_tables
from ace.rules.tool_calls import argument_leaves, shell_commands, tool_kinds

_TOOLS = word_tables.read("foreign_tools")
_PROGRAMS = word_tables.read("foreign_programs")
_ADDRESS_ARGUMENTS = word_tables.read("address_arguments")
# `gh` and its like also work on the repository itself.
_OWN_SUBCOMMANDS = frozenset({"auth", "config", "repo", "run", "workflow", "cache"})
_HOSTED = frozenset({"gh", "glab", "hub"})
_ADDRESS = re.compile(
    r"https?://(?:[^\s/@\"']{1,200}@)?([^\s/:\"'<>)]{1,255})", re.IGNORECASE
)
_LOOPBACK = re.compile(
    r"localhost|[\w.-]{1,80}\.localhost|127(?:\.\d{1,3}){3}|0\.0\.0\.0|\[?::1\]?",
    re.IGNORECASE,
)
# Calls in code that fetch an address.
_FETCH_IN_CODE = re.compile(
    r"\b(?:requests|httpx|aiohttp|urllib\d?|urlopen|fetch|axios|got|net/http|http\.get"
    r"|HttpClient|WebClient|Net::HTTP|feedparser|imaplib|smtplib|read_html)\b"
)


def is_foreign(name: str, arguments: Mapping[str, Any]) -> bool:
    """Whether the result of the call comes from outside of the repository."""
    command = (
        tool_kinds.command_of(arguments) if tool_kinds.is_shell(name, arguments) else ""
    )
    if command:
        return _fetches(command)
    words = set(tool_kinds.split_name(name))
    if words & _TOOLS:
        return not _is_of_this_machine(arguments)
    return _reads_address(arguments)


def _fetches(command: str) -> bool:
    """Whether a shell command or a piece of code fetches a text of another machine."""
    hosts = _ADDRESS.findall(command)
    if hosts and all(_LOOPBACK.fullmatch(host) for host in hosts):
        return False
    if hosts and _FETCH_IN_CODE.search(command):
        return True
    return any(
        simple.program.lower() in _PROGRAMS and not _is_own(simple)
        for simple in shell_commands.parse(command)
    )


def _is_own(simple: shell_commands.SimpleCommand) -> bool:
    if simple.program in _HOSTED:
        return bool(simple.operands) and simple.operands[0] in _OWN_SUBCOMMANDS
    return any(_LOOPBACK.match(word) for word in simple.operands)


def _reads_address(arguments: Mapping[str, Any]) -> bool:
    """Whether an argument that is named for it has an address of another machine."""
    for path, value in argument_leaves.leaves(arguments).items():
        names = set(tool_kinds.split_name(path))
        if names & _ADDRESS_ARGUMENTS and isinstance(value, str):
            found = _ADDRESS.match(value.strip())
            if found and not _LOOPBACK.fullmatch(found[1]):
                return True
    return False


def _is_of_this_machine(arguments: Mapping[str, Any]) -> bool:
    """Whether every address in the arguments is of this machine, as in a test of a page."""
    values = argument_leaves.leaves(arguments).values()
    hosts = [host for v in values if isinstance(v, str) for host in _ADDRESS.findall(v)]
    return bool(hosts) and all(_LOOPBACK.fullmatch(host) for host in hosts)
