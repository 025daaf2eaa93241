"""The gates in words."""

from __future__ import annotations

from playbook.lessons import gates
from playbook.review import gate_words


def test_every_gate_has_words():
    assert gate_words.GATES.keys() == set(gates.GATES)


def test_a_gate_that_did_not_pass_says_its_message_and_comes_first():
    found = gate_words.describe(
        [
            {"name": "room", "verdict": "pass", "value": 11, "threshold": 60},
            {"name": "evidence", "verdict": "warn", "message": "It lacks `x`."},
            {"name": "later", "verdict": "fail"},
        ]
    )

    assert [(each.label, each.sentence) for each in found] == [
        ("later", ""),
        ("Evidence", "It lacks `x`."),
        ("Room", "The playbook would have 11 tokens, of at most 60."),
    ]
