"""The test vectors of the author of gitleaks' rules, most of which no rule of ours names."""

from __future__ import annotations

from common.text import secrets
from tests.common.text import upstream_secret_vectors as vectors

MOST = 0.97
MOST_SKIPPED = 0.03


def test_it_masks_most_secrets_of_the_rules_author():
    known = list(vectors.leaks())
    left = []
    for vector in known:
        masked = secrets.mask(vector.text).text
        if masked == vector.text or any(s in masked for s in vector.secrets):
            left.append((vector.rule, masked))

    assert len(left) <= (1 - MOST) * len(known), left


def test_few_vectors_are_skipped_and_each_has_a_reason():
    rows = vectors.read_rows()
    reasons = [row["skipped"] for row in rows if "skipped" in row]

    assert all(reasons)
    assert len(reasons) < MOST_SKIPPED * len(rows)
