"""Hooks: what a coding agent is given at the events of its session, and what is counted.

`harnesses` reads and writes the JSON of each harness, without a database. The functions of
the events choose the lines, `pushes` gives each line once per session.
"""

from __future__ import annotations

from mcp_server.hooks.event_answer import answer

__all__ = ["answer"]
