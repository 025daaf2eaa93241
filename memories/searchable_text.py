"""The text by which a memory is found: what is hashed, embedded and indexed.

Both a `Memory` and a `Draft` have the fields.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Protocol

from common.text import same_text, tokenise


class HasTexts(Protocol):
    """The fields of a memory that are searched."""

    @property
    def title(self) -> str: ...
    @property
    def content(self) -> str: ...
    @property
    def goal(self) -> str: ...
    @property
    def result(self) -> str: ...
    @property
    def feedback(self) -> str: ...
    @property
    def steps(self) -> list[Any]: ...
    @property
    def outcome(self) -> str: ...
    @property
    def lessons(self) -> str: ...
    @property
    def value(self) -> Any: ...


# In the order in which a memory is embedded: the first chunk of a long text is its summary.
FIRST_FIELDS = ("title", "outcome", "lessons", "content")
FURTHER_FIELDS = ("goal", "result", "feedback", "steps")


def field_texts(memory: HasTexts) -> list[tuple[str, str]]:
    """Return each field that has a text, with the text, in the order of embedding.

    A further field that the content repeats is left out, so that its words do not count
    twice.
    """
    fields = [(name, str(getattr(memory, name))) for name in FIRST_FIELDS]
    further = [(name, str(getattr(memory, name))) for name in FURTHER_FIELDS[:-1]]
    further.append(("steps", "\n".join(_strings(memory.steps))))
    fields += [
        (name, text)
        for name, text in further
        if text and not _is_repeated(memory.content, text)
    ]
    return [(name, text) for name, text in fields if text]


def whole_text(memory: HasTexts) -> str:
    """Return the text that is embedded, chunk by chunk."""
    return "\n".join(text for _, text in field_texts(memory))


def compared_text(memory: HasTexts) -> str:
    """Return the text that decides whether two memories repeat each other.

    It has every field, but the goal: the same text under another goal is the same text. The
    names of the fields belong to it, except where the content is the only text.
    """
    names = (*FIRST_FIELDS, *(name for name in FURTHER_FIELDS[:-1] if name != "goal"))
    fields = {name: str(getattr(memory, name)) for name in names}
    fields["steps"] = "\n".join(_strings(memory.steps))
    if memory.value is not None:
        fields["value"] = json.dumps(memory.value, sort_keys=True, ensure_ascii=False)
    texts = [(name, text) for name, text in fields.items() if text]
    if [name for name, _ in texts] == ["content"]:
        return memory.content
    return "\n".join(f"{name}: {text}" for name, text in texts)


def similarity_hash(memory: HasTexts) -> str:
    """Hash the compared text; memories with the same hash repeat each other.

    Case, spacing, the Unicode form and the mark at the end do not count.
    """
    return same_text.hash_text(compared_text(memory))


def _strings(value: Any) -> Iterator[str]:
    """Yield the strings of a JSON value, in order."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from _strings(each)
    elif isinstance(value, list):
        for each in value:
            yield from _strings(each)


def _is_repeated(content: str, part: str) -> bool:
    """Whether the content contains a part as whole words.

    The text "password" does not contain the word "pass".
    """
    return part in content and _normalise(part) in _normalise(content)


def _normalise(value: str) -> str:
    return f" {' '.join(tokenise.words(value))} "
