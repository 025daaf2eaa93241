from __future__ import annotations

from common.erasure.handlers import ErasureHandler, register
from search.models import Corpus


@register
class SearchErasure(ErasureHandler):
    """The apps that own the texts count the lexemes again after a purge."""

    no_text = {Corpus: {"name": "a name of the code"}}
