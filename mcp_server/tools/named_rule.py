"""Find the rule that a call names by its id or its label."""

from __future__ import annotations

from common import errors
from mcp_server.server.tool_call import McpCall
from playbook.models import PlaybookEntry
from projects.project_lookup import parse_id


def find_rule(call: McpCall, name: str) -> PlaybookEntry:
    """Return the rule; raise NotFound if the project has none that the caller may see."""
    rows = PlaybookEntry.objects.visible_to(call.caller).filter(project=call.project)
    pk = parse_id(name)
    named = rows.filter(pk=pk) if pk else rows.filter(label=name)
    entry: PlaybookEntry | None = named.light().select_related("project").first()
    if entry is None:
        raise errors.NotFound(
            f"There is no memory or rule {name!r} in this project; `search` finds ids."
        )
    return entry
