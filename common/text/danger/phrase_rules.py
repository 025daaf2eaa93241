"""Say which words together are dangerous advice: a verb of one table, an object of another."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PhraseRule:
    """Tables whose words together are dangerous.

    The first two are a verb and its object; `close` says that the object follows the verb
    within so many English words. All words stand within `within` words.
    """

    kind: str
    tables: tuple[str, ...]
    close: int = 3
    within: int = 16
    unless: frozenset[str] = frozenset()  # words that make it careful


_CARE = frozenset(
    ["check", "verify", "compare", "inspect", "review", "person", "hash", "checksum"]
)

_OLD = frozenset(["old", "stale", "obsolete", "unused", "duplicate", "outdated"])
_SCRATCH = _OLD | frozenset(
    [
        "test",
        "tests",
        "temporary",
        "temp",
        "tmp",
        "scratch",
        "cache",
        "cached",
        "sample",
        "demo",
        "fixture",
        "build",
    ]
)

_NEGATIONS = frozenset(["not", "no", "never", "nobody", "none"])

# What makes `public` a part of a name.
_NAMES = _NEGATIONS | frozenset(["on", "in", "named", "called", "link"])

# Services that anybody may ask.
_OPEN = _NEGATIONS | frozenset(["health", "healthz", "status", "docs", "mock", "fake"])

# What makes a foreign text a claim that somebody judges.
_DOUBT = frozenset(
    [
        "ask",
        "confirm",
        "check",
        "first",
        "again",
        "never",
        "not",
        "no",
        "don't",
        "nobody",
        "only",
        "own",
    ]
)

# What the project's own tools say is no text from elsewhere.
_OWN_TOOLS = frozenset(
    [
        "linter",
        "formatter",
        "compiler",
        "ruff",
        "mypy",
        "eslint",
        "contributing",
        "style",
    ]
)

RULES = (
    PhraseRule("check_off", ("disable", "check"), unless=_OLD),
    PhraseRule("check_off", ("disable_them", "failing", "check"), close=8),
    PhraseRule("check_off", ("turn_off", "login"), unless=_OLD),
    PhraseRule("check_off", ("allow", "anonymous"), unless=_NEGATIONS),
    PhraseRule("check_off", ("serve", "no_login", "service"), close=8, unless=_OPEN),
    PhraseRule("check_off", ("make_public", "store"), unless=_NAMES),
    PhraseRule("check_off", ("go_without", "backup"), unless=_OLD),
    PhraseRule("check_off", ("go_without", "dump", "alter_data"), unless=_SCRATCH),
    PhraseRule("check_off", ("alter_data", "no_backup"), close=6, unless=_SCRATCH),
    PhraseRule("check_off", ("no_backup", "alter_data"), close=6, unless=_SCRATCH),
    PhraseRule("hidden_failure", ("hide", "failing")),
    PhraseRule("hidden_failure", ("hide", "failing", "people"), close=8),
    PhraseRule("hidden_failure", ("claim", "success", "failing"), close=4),
    PhraseRule("hidden_failure", ("claim", "success", "regardless"), close=4),
    PhraseRule("hidden_failure", ("cover_up",)),
    PhraseRule("hidden_failure", ("silent", "failing"), close=6),
    PhraseRule("hidden_failure", ("silent", "check"), close=4),
    PhraseRule("hidden_failure", ("conceal", "people"), close=4),
    PhraseRule("hidden_failure", ("pretend", "success"), close=5),
    PhraseRule("hidden_failure", ("tamper", "evidence", "purpose")),
    PhraseRule("hidden_failure", ("leave_out", "people", "failing"), close=4),
    PhraseRule("hidden_failure", ("remove", "check", "failing"), within=8),
    PhraseRule("hidden_failure", ("set_aside", "check", "uncollected")),
    PhraseRule("hidden_failure", ("lower", "threshold"), close=3),
    PhraseRule("hidden_failure", ("lower", "limit", "purpose"), close=4),
    PhraseRule("root", ("root",)),
    PhraseRule("removal", ("remove", "valuable"), unless=_SCRATCH),
    PhraseRule("removal", ("rewrite_branch", "shared_branch"), close=4),
    PhraseRule("removal", ("destroy", "asset"), close=2, unless=_SCRATCH),
    PhraseRule("pipe_to_shell", ("fetch", "run_it"), close=14, unless=_CARE),
    PhraseRule("pipe_to_shell", ("run_any", "remote"), close=6),
    PhraseRule("pipe_to_shell", ("run_any", "shown"), close=8, unless=_OWN_TOOLS),
    PhraseRule("pipe_to_shell", ("run_verb", "code", "origin"), close=3, within=12),
    PhraseRule("pipe_to_shell", ("run_verb", "origin", "code"), close=2, within=6),
    PhraseRule(
        "pipe_to_shell",
        ("fetch", "execute", "remote"),
        close=14,
        within=20,
        unless=_CARE,
    ),
    PhraseRule(
        "foreign_order", ("tells", "carry_out", "foreign_text"), close=14, unless=_DOUBT
    ),
    PhraseRule(
        "foreign_order", ("obey_what", "foreign_text", "shown"), close=5, unless=_DOUBT
    ),
    PhraseRule(
        "foreign_order", ("treat", "foreign_text", "as_order"), close=6, unless=_DOUBT
    ),
    PhraseRule("foreign_order", ("obey", "foreign_text"), close=6, unless=_DOUBT),
    PhraseRule(
        "foreign_order",
        ("order_words", "binding", "foreign_text"),
        close=6,
        unless=_DOUBT,
    ),
    PhraseRule("approve_unasked", ("unasked",)),
    PhraseRule("approve_unasked", ("answer", "prompts"), close=6),
    PhraseRule("secret_exposure", ("expose", "secret"), close=4),
    PhraseRule("secret_exposure", ("expose", "token"), close=2),
    PhraseRule("secret_exposure", ("send", "secret", "outside"), close=5),
    PhraseRule("secret_exposure", ("send", "token", "outside"), close=3),
    PhraseRule("exfiltration", ("send", "data", "outside"), close=5),
    PhraseRule("listener", ("listen",)),
    PhraseRule("persistence", ("install", "persist"), close=8),
)
