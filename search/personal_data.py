from __future__ import annotations

from common.personal_data import Part, register
from search.models import Corpus


@register
class SearchData(Part):
    """The lexemes themselves are counted anew by the apps whose texts they are of."""

    no_text = {Corpus: {"name": "a name of the code"}}
