"""A panel with the calls that gave a memory to agents, and how tasks then used it."""

from __future__ import annotations

from common.admin import panels
from common.admin.panels import Panel, format_time, row_link, short_text
from common.caller import Caller
from memories.models import Memory, MemoryExposure
from memories.read import exposures

RUN = "ace_acerun"
MAX_EXPOSURES = 20  # exposures of a memory on its page


def build_panel(memory: Memory, caller: Caller) -> Panel:
    use = exposures.count_use(memory)
    rows = MemoryExposure.objects.visible_to(caller).filter(memory=memory)
    return panels.table(
        f"Given to agents: {use.times_given:,}, used: {use.times_used:,}",
        ["When", "Agent", "Call", "Used", "Run"],
        (
            [
                format_time(one.at),
                short_text(one.agent_id, 60),
                short_text(one.request_id, 40),
                one.get_used_as_display(),
                row_link(RUN, one.run_id),
            ]
            for one in rows[: MAX_EXPOSURES + 1]
        ),
        empty="No agent got it yet.",
        most=MAX_EXPOSURES,
    )
