from __future__ import annotations

from django.db.models import Q

from audit.models import AuditEvent
from common.erasure.handlers import ErasableColumns, ErasureHandler, register
from common.erasure.redaction import json_redactor

HASH = "the hash of a whole state, which reveals no text"
WHO = "who did it and from where: the purpose of the record"


@register
class AuditErasure(ErasureHandler):
    erasable = (
        ErasableColumns(
            AuditEvent,
            lambda erasure: AuditEvent.objects.filter(
                Q(object_id__in=[str(pk) for pk in erasure.all_ids])
                | Q(pk__in=erasure.ids_of("audit_event"))
            ),
            {
                "detail": json_redactor(
                    "label", "actions", "operation", "status", "agent"
                )
            },
        ),
    )
    no_text = {
        AuditEvent: {
            **dict.fromkeys(("actor", "agent_id", "address", "request_id"), WHO),
            **dict.fromkeys(("before_hash", "after_hash"), HASH),
            **dict.fromkeys(("verb", "object_type", "object_id"), "names of the code"),
        }
    }
