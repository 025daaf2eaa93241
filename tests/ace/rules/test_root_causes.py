from __future__ import annotations

import pytest

from ace.rules import causes, evidence


def cause(*texts, rows=()):
    spans = [span for text in texts for span in evidence.scan(text, "feedback")]
    return causes.root_cause(spans, rows)


class TestTable:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("HTTP 429 Too Many Requests", "RATE_LIMIT"),
            ("deadlock detected", "CONCURRENCY"),
            ("401 Unauthorized", "AUTH"),
            ("permission denied", "PERMISSION"),
            ("'utf-8' codec can't decode byte 0xff", "ENCODING"),
            ("ModuleNotFoundError: No module named 'x'", "DEPENDENCY"),
            ("bash: uv: command not found", "ENV_SETUP"),
            ("TimeoutError: too slow", "TIMEOUT"),
            ("unexpected keyword argument 'x'", "TOOL_ARGS"),
            ("AttributeError: 'A' object has no attribute 'b'", "API_SCHEMA"),
            ("SyntaxError: invalid syntax", "FORMAT"),
            ("FileNotFoundError: a.py", "NOT_FOUND"),
            ("expected: 5, got: 4", "VALUE_MISMATCH"),
            ("KeyError: 'x'", "INCOMPLETE_DATA"),
            ("FAILED tests/a.py::test_b", "VALUE_MISMATCH"),
        ],
    )
    def test_each_error_has_its_cause(self, text, expected):
        assert cause(text) == expected

    def test_the_order_of_evidence_does_not_matter(self):
        texts = ("KeyError: 'x'", "deadlock detected")

        assert cause(*texts) == cause(*reversed(texts)) == "CONCURRENCY"

    def test_without_evidence_it_is_unknown(self):
        assert cause() == causes.UNKNOWN

    def test_every_code_of_the_design_is_there(self):
        codes = {row.code for row in causes.ROWS} | {causes.UNKNOWN}

        assert codes == {
            "TOOL_ARGS", "API_SCHEMA", "AUTH", "RATE_LIMIT", "TIMEOUT", "NOT_FOUND",
            "FORMAT", "VALUE_MISMATCH", "INCOMPLETE_DATA", "LOOP", "NO_VERIFICATION",
            "REQUIREMENT_MISSED", "WRONG_SOURCE", "ENV_SETUP", "DEPENDENCY",
            "CONCURRENCY", "REGRESSION", "PREFERENCE", "PERMISSION", "ENCODING",
            "UNKNOWN",
        }  # fmt: skip


class TestProjectRows:
    def test_a_projects_own_row_is_asked_first(self):
        row = causes.Row("BILLING", phrases=("ledger",))

        assert cause("deadlock detected in ledger", rows=[row]) == "BILLING"

    def test_its_phrases_are_whole_words(self):
        row = causes.Row("BILLING", phrases=("bill",))

        assert cause("deadlock detected in billing", rows=[row]) == "CONCURRENCY"
