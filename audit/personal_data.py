from __future__ import annotations

from django.db.models import Q

from audit.models import AuditEvent
from common.masks import tree
from common.personal_data import Holding, Part, register

HASH = "the hash of a whole state, which tells no text"
WHO = "who did it and from where, which the record is for"


@register
class AuditData(Part):
    holdings = (
        Holding(
            AuditEvent,
            lambda reach: AuditEvent.objects.filter(
                Q(object_id__in=[str(pk) for pk in reach.all])
                | Q(pk__in=reach.of("audit_event"))
            ),
            {"detail": tree("label", "actions", "operation", "status", "agent")},
        ),
    )
    no_text = {
        AuditEvent: {
            **dict.fromkeys(("actor", "agent_id", "address", "request_id"), WHO),
            **dict.fromkeys(("before_hash", "after_hash"), HASH),
            **dict.fromkeys(("verb", "object_type", "object_id"), "names of the code"),
        }
    }
