"""The tools of the MCP server: each parses, calls what the REST view calls, and answers.

The package may import every app below `mcp_server`.
"""

from __future__ import annotations

from mcp_server.tools import (
    complete_task,
    context,
    feedback,
    fetch,
    forget,
    hook,
    propose_rule,
    remember,
    search,
)

# In the order in which an agent needs them.
TOOLS = (
    context.TOOL,
    search.TOOL,
    fetch.TOOL,
    remember.TOOL,
    forget.TOOL,
    complete_task.TOOL,
    feedback.TOOL,
    propose_rule.TOOL,
    hook.TOOL,
)
