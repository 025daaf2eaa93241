"""Show a quote in its context.

The context is the field of the run or memory from which the quote was taken.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ace.models import AceRun
from ace.run_texts import text_reader
from common.caller import Caller
from console.inbox import proposal_words
from memories.models import Memory
from playbook.lessons import person_edits
from playbook.models import PlaybookDelta

CONTEXT_CHARACTERS = 10_000  # the limit before the quote, and the limit after it
MAX_QUOTE = 10_000


@dataclass(frozen=True)
class QuoteInContext:
    """A quote with the text around it.

    `before` and `after` are empty if the field does not contain the quote, or no longer
    does.
    """

    field: str
    quote: str
    before: str = ""
    after: str = ""
    is_found: bool = False
    run: AceRun | None = None
    memory: Memory | None = None

    @property
    def field_words(self) -> str:
        return proposal_words.describe_field(self.field)


def find_quote(
    delta: PlaybookDelta, number: int, caller: Caller
) -> QuoteInContext | None:
    """Return the quote with this number, counted from 1; None if there is no such quote."""
    quotes = [quote for quote in delta.evidence if isinstance(quote, dict)]
    if not 1 <= number <= len(quotes):
        return None
    quote = quotes[number - 1]
    field, words = str(quote.get("field", "")), str(quote.get("quote", ""))
    run, memory = _source_run(delta, caller), _source_memory(delta, caller)
    text = text_reader(run)(field) if run else ""
    if memory and not text:
        texts = person_edits.quotable_texts(memory)
        text = next((each.text for each in texts if each.field == field), "")
    source: dict[str, Any] = {"run": run, "memory": memory}
    start, end = quote.get("start"), quote.get("end")
    if (
        not (isinstance(start, int) and isinstance(end, int))
        or text[start:end] != words
    ):
        return QuoteInContext(field, words[:MAX_QUOTE], **source)
    before, after = (
        text[max(0, start - CONTEXT_CHARACTERS) : start],
        text[end : end + CONTEXT_CHARACTERS],
    )
    return QuoteInContext(
        field, words[:MAX_QUOTE], before, after, is_found=True, **source
    )


def _source_run(delta: PlaybookDelta, caller: Caller) -> AceRun | None:
    if delta.run_id is None:
        return None
    found: AceRun | None = (
        AceRun.objects.visible_to(caller).filter(pk=delta.run_id).first()
    )
    return found


def _source_memory(delta: PlaybookDelta, caller: Caller) -> Memory | None:
    if delta.memory_id is None:
        return None
    rows = Memory.objects.visible_to(caller).readable().light()
    found: Memory | None = rows.filter(pk=delta.memory_id).first()
    return found
