"""The test vectors of the author of the rules that find secrets."""

from __future__ import annotations

from common.text import secrets
from common.text.secret_rules import upstream_rules
from tests.common.text import upstream_secret_vectors as vectors

MOST_SKIPPED = 0.03


def test_it_masks_each_secret_of_the_rules_author():
    left = []
    for vector in vectors.leaks():
        masked = secrets.mask(vector.text).text
        if masked == vector.text or any(s in masked for s in vector.secrets):
            left.append((vector.rule, masked))

    assert left == []


def test_no_rule_takes_its_authors_harmless_texts_for_a_secret():
    indexes = {row["id"]: n for n, row in enumerate(upstream_rules.rules())}
    found = [
        (vector.rule, vector.text)
        for vector in vectors.harmless()
        if _is_found(vector.text, indexes.get(vector.rule))
    ]

    assert found == []


def test_few_vectors_are_skipped_and_each_has_a_reason():
    rows = vectors.read_rows()
    reasons = [row["skipped"] for row in rows if "skipped" in row]

    assert all(reasons)
    assert len(reasons) < MOST_SKIPPED * len(rows)


def _is_found(text: str, index: int | None) -> bool:
    """Return whether the rule finds a secret, or all rules in place of one that we lack."""
    if index is None:
        return not secrets.is_clean(text)
    keywords = upstream_rules.rules()[index]["keywords"]
    return any(keyword in text.lower() for keyword in keywords) and any(
        upstream_rules.find_by_rule(index, text, 0, len(text))
    )
