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


def test_a_prompt_has_one_part_of_durable_memory(api, model, remember):
    for kind, content in KNOWN.items():
        remember(content, kind=kind)
    model.script(say("Thought: known.\nFinal Answer: The disk."))

    api.post("agents/react-mem", question=QUESTION, enable_memory=True)

    [prompt] = model.prompts
    before, digest = re.split("memory digest:", prompt, maxsplit=1, flags=re.IGNORECASE)
    assert [text for text in KNOWN.values() if text in before] == []
    assert [text for text in KNOWN.values() if text not in digest] == []


@pytest.mark.parametrize("headers", [{}, {"Prefer": "respond-async"}])
def test_each_turn_is_given_the_digest(api, model, remember, run_jobs, headers):
    """An interactive turn answers at once; a delegated one runs in a job."""
    remember(KNOWN["note"])
    model.script(say("Thought: known.\nFinal Answer: The disk."))

    body = {"question": QUESTION, "enable_memory": True, "headers": headers}
    api.post("agents/react-mem", **body)
    run_jobs()

    digest = re.split("memory digest:", model.prompts[0], flags=re.IGNORECASE)[-1]
    assert KNOWN["note"] in digest
