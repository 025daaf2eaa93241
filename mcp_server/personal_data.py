"""In a purge, delete what was pushed of the erased memories, rules and proposals."""

from __future__ import annotations

from django.db.models import QuerySet

from common.erasure.handlers import ErasableColumns, ErasureHandler, register
from common.erasure.scope import ErasureScope
from mcp_server.models import HookCount, Push

NAME_OF_CODE = "a name of the code"


def _pushes(erasure: ErasureScope) -> QuerySet[Push]:
    ids = [
        str(pk) for kind in ("memory", "entry", "delta") for pk in erasure.ids_of(kind)
    ]
    return Push.objects.filter(project_id=erasure.project_id, subject__in=ids)


@register
class HookErasure(ErasureHandler):
    erasable = (ErasableColumns(Push, _pushes, deleted=("subject",)),)
    no_text = {
        HookCount: {
            "agent_id": "names an agent",
            "harness": NAME_OF_CODE,
            "event": NAME_OF_CODE,
        },
        Push: {
            "event": NAME_OF_CODE,
            "session": "a digest of the id of a session",
            "subagent": "a digest of the id of a subagent",
        },
    }
