from __future__ import annotations

from common.masks import text
from common.personal_data import Holding, Part, register
from inference.models import ActiveModel, ModelCall


@register
class ModelCallData(Part):
    holdings = (
        # A provider's error may quote what it was asked.
        Holding(
            ModelCall,
            lambda reach: ModelCall.objects.filter(project_id=reach.project_id).exclude(
                error=""
            ),
            {"error": text},
        ),
    )
    no_text = {
        ModelCall: dict.fromkeys(
            ("purpose", "prompt_version", "model"), "names of the code and of a model"
        ),
        ActiveModel: dict.fromkeys(("name", "choice"), "names a model"),
    }
