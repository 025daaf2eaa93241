from __future__ import annotations

from django.db.models import Q

from audit.models import AuditEvent
from common.erasure.handlers import ErasableColumns, ErasureHandler, register
from common.erasure.redaction import json_redactor

HASH = "the hash of a whole state, which tells no text"
WHO = "who did it and from where, which the record is for"


@register
class AuditData(ErasureHandler):
    holdings = (
        ErasableColumns(
            AuditEvent,
            lambda reach: AuditEvent.objects.filter(
                Q(object_id__in=[str(pk) for pk in reach.all])
                | Q(pk__in=reach.of("audit_event"))
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
