from __future__ import annotations

import pytest

from ace.rules import causes, evidence, task


def cause(*texts, rows=()):
    spans = [span for text in texts for span in evidence.scan(text, "feedback")]
    return causes.root_cause(spans, rows)


def of_task(request):
    return causes.root_cause(evidence.find(task.parse(request)))


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

    @pytest.mark.parametrize(
        ("result", "expected"),
        [
            ('openai.RateLimitError: Error code: 429 - Rate limit reached for gpt-4o', 'RATE_LIMIT'),
            ('Error: quota exceeded, retry after 12 seconds', 'RATE_LIMIT'),
            ('django.db.utils.OperationalError: database is locked', 'CONCURRENCY'),
            ('psycopg.errors.SerializationFailure: could not serialize access due to concurrent update', 'CONCURRENCY'),
            ("fatal: Authentication failed for 'https://git.example.org/app.git/'", 'AUTH'),
            ('{"error": "invalid_token", "message": "The access token expired"}', 'AUTH'),
            ('HTTP/1.1 403 Forbidden', 'PERMISSION'),
            ("PermissionError: [Errno 13] Permission denied: '/etc/hosts'", 'PERMISSION'),
            ("UnicodeDecodeError: 'utf-8' codec can't decode byte 0xe9 in position 12: invalid continuation byte", 'ENCODING'),
            ("UnicodeEncodeError: 'ascii' codec can't encode character '\\u2019'", 'ENCODING'),
            ('npm ERR! ERESOLVE unable to resolve dependency tree', 'DEPENDENCY'),
            ("Error: Cannot find module 'left-pad'", 'DEPENDENCY'),
            ('requests.exceptions.ConnectionError: connection refused', 'ENV_SETUP'),
            ('django.core.exceptions.ImproperlyConfigured: Set the SECRET_KEY environment variable', 'ENV_SETUP'),
            ('requests.exceptions.ReadTimeout: HTTPSConnectionPool: Read timed out. (read timeout=30)', 'TIMEOUT'),
            ('Command timed out after 120 seconds', 'TIMEOUT'),
            ("TypeError: fetch() missing 1 required positional argument: 'url'", 'TOOL_ARGS'),
            ('error: unrecognized arguments: --verbos', 'TOOL_ARGS'),
            ('pydantic_core.ValidationError: 1 validation error for Order', 'API_SCHEMA'),
            ('HTTP 400 Bad Request', 'API_SCHEMA'),
            ('json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)', 'FORMAT'),
            ("src/app.ts(3,5): error TS1005: ';' expected.", 'FORMAT'),
            ('cat: config.yml: No such file or directory', 'NOT_FOUND'),
            ('Error: user not found', 'NOT_FOUND'),
            ('HTTP 404 Not Found', 'NOT_FOUND'),
            ('AssertionError: assert 3 == 4', 'VALUE_MISMATCH'),
            ('Error: payment amount does not add up, total price is 310', 'VALUE_MISMATCH'),
            ('IndexError: list index out of range', 'INCOMPLETE_DATA'),
            ('Error: not enough seats on flight HAT030', 'INCOMPLETE_DATA'),
        ],
    )  # fmt: skip
    def test_the_result_of_a_call_names_its_cause(self, result, expected):
        call = {"tool_name": "call_it", "arguments": {}, "result": result}

        assert of_task({"tool_usage": [call]}) == expected

    @pytest.mark.parametrize(
        ("feedback", "expected"),
        [
            ('You should run the old suite too: the login is a regression.', 'REGRESSION'),
            ('Never touch the parser without its tests, it used to work before your change.', 'REGRESSION'),
            ('You must read the current price list; the one you used is outdated.', 'WRONG_SOURCE'),
            ('Do not query the wrong database; reports read the replica.', 'WRONG_SOURCE'),
            ('You should do what the issue says: only admins may export.', 'REQUIREMENT_MISSED'),
            ('The specification must be followed: amounts are in cents.', 'REQUIREMENT_MISSED'),
            ("Don't hand in changes without running the suite.", 'NO_VERIFICATION'),
            ('Always run the tests before you push.', 'NO_VERIFICATION'),
            ('Please answer in three sentences.', 'PREFERENCE'),
            ('Use `rg` instead of `grep`.', 'PREFERENCE'),
        ],
    )  # fmt: skip
    def test_feedback_names_the_cause(self, feedback, expected):
        assert of_task({"feedback": feedback, "feedback_source": "human"}) == expected

    @pytest.mark.parametrize("tool", ["look_up", "list_orders"])
    def test_the_same_call_three_times_is_a_loop(self, tool):
        call = {"tool_name": tool, "arguments": {"id": "7"}, "result": "nothing"}

        assert of_task({"tool_usage": [call] * 3}) == "LOOP"

    @pytest.mark.parametrize("tool", ["edit_file", "write_file"])
    def test_an_unchecked_change_is_unverified(self, tool):
        call = {"tool_name": tool, "arguments": {"path": "a.py"}, "result": "ok"}

        assert of_task({"tool_usage": [call]}) == "NO_VERIFICATION"

    def test_evidence_without_a_cause_is_unknown(self):
        call = {"tool_name": "call_it", "arguments": {}, "result": "Error: no luck"}

        assert of_task({"tool_usage": [call]}) == causes.UNKNOWN
        assert of_task({"feedback": "Thanks a lot."}) == causes.UNKNOWN

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
    def test_the_rows_of_a_project_come_first(self):
        row = causes.CauseRow("BILLING", phrases=("ledger",))

        assert cause("deadlock detected in ledger", rows=[row]) == "BILLING"

    def test_its_phrases_are_whole_words(self):
        row = causes.CauseRow("BILLING", phrases=("bill",))

        assert cause("deadlock detected in billing", rows=[row]) == "CONCURRENCY"
