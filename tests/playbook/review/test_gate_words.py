"""The gates in words."""

from __future__ import annotations

import re
from pathlib import Path

from playbook.proposals import gates, policy
from playbook.review import gate_words
from playbook.rule_text import text_gates

NAMED = re.compile(r'(?:GateResult|_result)\(\s*"(\w+)"')


def test_every_gate_has_words():
    folder = Path(gates.__file__).parent
    files = [Path(text_gates.__file__), *folder.glob("*.py")]
    names = {name for file in files for name in NAMED.findall(file.read_text("utf-8"))}

    assert names == gate_words.GATES.keys()
    assert names >= policy.PERSON_GATES


def test_a_gate_that_did_not_pass_says_its_message_and_comes_first():
    found = gate_words.describe(
        [
            {"name": "atomic", "verdict": "pass", "value": 11, "threshold": 60},
            {"name": "grounded", "verdict": "warn", "message": "It lacks `x`."},
            {"name": "later", "verdict": "fail"},
        ]
    )

    assert [(each.label, each.sentence) for each in found] == [
        ("later", ""),
        ("Grounded", "It lacks `x`."),
        ("One idea", "It has 11 words, of at most 60."),
    ]
