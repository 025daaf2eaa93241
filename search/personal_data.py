from __future__ import annotations

from common.erasure.handlers import ErasureHandler, register
from search.models import Corpus


@register
class SearchErasure(ErasureHandler):
    """The lexemes themselves are counted anew by the apps whose texts they are of."""

    no_text = {Corpus: {"name": "a name of the code"}}
