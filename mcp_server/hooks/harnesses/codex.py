"""Codex CLI: the schemas in `codex-rs/hooks/schema/generated` of openai/codex.

Codex has no event for a failed call: `PostToolUse` brings the output, which shows it.
"""

from __future__ import annotations

from mcp_server.hooks.harnesses import claude_code
from mcp_server.hooks.harnesses.harness import Harness

HARNESS = Harness(
    "codex",
    claude_code.KINDS,
    claude_code.find_name,
    claude_code.read,
    claude_code.write,
)
