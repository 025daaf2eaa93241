from __future__ import annotations

from common.erasure.handlers import ErasableColumns, ErasureHandler, register
from common.erasure.redaction import redact_text
from inference.models import ActiveModel, ModelCall


@register
class ModelCallData(ErasureHandler):
    holdings = (
        # A provider's error may quote what it was asked.
        ErasableColumns(
            ModelCall,
            lambda reach: ModelCall.objects.filter(project_id=reach.project_id).exclude(
                error=""
            ),
            {"error": redact_text},
        ),
    )
    no_text = {
        ModelCall: dict.fromkeys(
            ("purpose", "prompt_version", "model"), "names of the code and of a model"
        ),
        ActiveModel: dict.fromkeys(("name", "choice"), "names a model"),
    }
