"""The template filter `visible`: a text without the characters that have no visible form."""

from __future__ import annotations

from django import template

from common.text.visible import drop_invisible

register = template.Library()


@register.filter
def visible(text: object) -> str:
    return "" if text is None else drop_invisible(str(text))
