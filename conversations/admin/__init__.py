"""The admin pages of sessions, messages, summaries, invocations and agent memories.

Importing this package registers the pages. It may import everything of `conversations` but
its views and serializers.
"""

from __future__ import annotations

from conversations.admin import agent_memories, invocations, sessions, texts

__all__ = ["agent_memories", "invocations", "sessions", "texts"]
