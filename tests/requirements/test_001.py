"""Demands of document 001, the budgeted digest."""

from __future__ import annotations

import re

import pytest

from tests.agents.scripted_endpoint import say

pytestmark = pytest.mark.django_db
QUESTION = "Why does the invoice export fail?"
KNOWN = {
    "fact": "The invoice export fails when the disk of the exporter is full.",
    "episode": "Mend the invoice export. Its ledger had no index, so it timed out.",
    "note": "Ask Mia, who wrote the invoice export, before it is changed.",
}


@pytest.mark.xfail(
    strict=True, raises=AssertionError, reason="issue 45: one part of the prompt"
)
def test_a_prompt_has_one_part_of_durable_memory(api, model, remember):
    for kind, content in KNOWN.items():
        remember(content, kind=kind)
    model.script(say("Thought: known.\nFinal Answer: The disk."))

    api.post("agents/react-mem", question=QUESTION, enable_memory=True)

    [prompt] = model.prompts
    before, digest = re.split("memory digest:", prompt, maxsplit=1, flags=re.IGNORECASE)
    assert [text for text in KNOWN.values() if text in before] == []
    assert [text for text in KNOWN.values() if text not in digest] == []
