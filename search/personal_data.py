from __future__ import annotations

from common.erasure.handlers import ErasureHandler, register
from search.models import Corpus


@register
class SearchErasure(ErasureHandler):
    """Nothing to erase here: after a purge, the apps that own the texts count lexemes again."""

    no_text = {Corpus: {"name": "a name of the code"}}
