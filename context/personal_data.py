from __future__ import annotations

from common.erasure.handlers import ErasureHandler, register
from context.models import DigestConfig

SET_BY_CURATOR = "what a curator set for the digests of a project"


@register
class DigestErasure(ErasureHandler):
    no_text = {
        DigestConfig: dict.fromkeys(
            ("agent_id", "config", "updated_by"), SET_BY_CURATOR
        )
    }
