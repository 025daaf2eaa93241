"""The templates of a prompt: files, which a project may replace by its own texts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from string import Template

from inference.language import prompts
from projects.options import TemplateName

FOLDER = Path(__file__).with_name("templates")
_PARAGRAPHS = re.compile(r"\n{2,}")


def fill_template(
    name: TemplateName, own: Mapping[TemplateName, str], **values: str
) -> str:
    """Return a template with its values; a paragraph whose values are all empty is left out.

    `own` are the templates of the project. A dollar sign in a value is only text.
    """
    text = own.get(name) or prompts.read(FOLDER / f"{name}.txt").text
    paragraphs = map(Template, _PARAGRAPHS.split(text.strip()))
    has_text = partial(_has_text, values=values)
    return "\n\n".join(each.substitute(values) for each in paragraphs if has_text(each))


def _has_text(paragraph: Template, values: Mapping[str, str]) -> bool:
    names = paragraph.get_identifiers()
    return not names or any(values[name] for name in names)
