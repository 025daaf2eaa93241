"""Stores of sessions behind the session-memory contract (seed 002).

A store is a Provider; what else it can do is asked of it (`capabilities`), never declared.
"""

from __future__ import annotations

from conversations.stores.capabilities import capabilities_of
from conversations.stores.choice import has_capability, require, store_of
from conversations.stores.full import FullStore
from conversations.stores.simple import SimpleStore
from conversations.stores.tool import MemoryTool, ToolOptions, build_tool
from conversations.stores.trace import TracedStore, unwrap

__all__ = [
    "FullStore",
    "MemoryTool",
    "SimpleStore",
    "ToolOptions",
    "TracedStore",
    "build_tool",
    "capabilities_of",
    "has_capability",
    "require",
    "store_of",
    "unwrap",
]
