from __future__ import annotations

from common.erasure.handlers import ErasableColumns, ErasureHandler, register
from common.erasure.redaction import redact
from inference.models import ActiveModel, ModelCall


@register
class ModelCallErasure(ErasureHandler):
    erasable = (
        # A provider's error may quote the prompt.
        ErasableColumns(
            ModelCall,
            lambda erasure: ModelCall.objects.filter(
                project_id=erasure.project_id
            ).exclude(error=""),
            {"error": redact},
        ),
    )
    no_text = {
        ModelCall: dict.fromkeys(
            ("purpose", "prompt_version", "model"), "names of the code and of a model"
        ),
        ActiveModel: dict.fromkeys(("name", "choice", "scale"), "describes a model"),
    }
