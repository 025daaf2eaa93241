from __future__ import annotations

import pytest

from ace.task import runner_reports


class TestRunners:
    @pytest.mark.parametrize(
        ("text", "passed", "failed"),
        [
            ("===== 3 failed, 10 passed, 1 error in 1.20s =====", 10, 4),
            ("10 passed, 2 warnings in 0.11s", 10, 0),
            ("== 2 passed in 1.00s ==\n== 1 failed, 1 passed in 1.10s ==", 1, 1),
            ("Ran 5 tests in 0.010s\n\nOK", 5, 0),
            ("Ran 5 tests in 0.010s\n\nFAILED (failures=1, errors=2)", 2, 3),
            ("Ran 5 tests in 0.010s\n\nOK (skipped=2)", 3, 0),
            ("Tests:       1 failed, 4 passed, 5 total\nTime: 2 s", 4, 1),
            ("      Tests  1 failed | 4 passed (5)", 4, 1),
            ("  5 passing (20ms)\n  1 failing\n", 5, 1),
            ("--- PASS: TestA (0.00s)\n--- FAIL: TestB (0.00s)\nFAIL", 1, 1),
            ("ok  \texample/pkg\t0.012s\nFAIL\texample/other\t0.1s", 1, 1),
            ("test result: ok. 3 passed; 0 failed; 0 ignored", 3, 0),
            ("test result: ok. 3 passed; 0 failed;\ntest result: FAILED. 1 passed; 2 failed;",
             4, 2),
            ("Tests run: 7, Failures: 1, Errors: 1, Skipped: 0", 5, 2),
            ("10 examples, 2 failures", 8, 2),
            ("OK (5 tests, 9 assertions)", 5, 0),
            ("Tests: 5, Assertions: 9, Failures: 1, Errors: 1.", 3, 2),
            ("# tests 4\n# pass 3\n# fail 1", 3, 1),
        ],
    )  # fmt: skip
    def test_each_report_is_counted(self, text, passed, failed):
        assert runner_reports.count_tests(text) == (passed, failed)


class TestWords:
    @pytest.mark.parametrize(
        ("text", "passed", "failed"),
        [
            ("3 passed, 2 failed", 3, 2),
            ("All 12 tests pass.", 12, 0),
            ("12/12 tests passed", 12, 0),
            ("4 of 5 tests passed", 4, 1),
            ("The code failed 2 out of the 5 test cases.", 3, 2),
            ("passed: 7, failed: 1", 7, 1),
        ],
    )
    def test_people_count_too(self, text, passed, failed):
        assert runner_reports.count_tests(text) == (passed, failed)

    @pytest.mark.parametrize(
        "text",
        ["", "all good", "It passed.", "after 2 failed attempts", "no tests ran in 0.01s",
         "the 404 page failed", "ok", "1,234 rows"],
    )  # fmt: skip
    def test_words_without_counts_are_no_report(self, text):
        assert runner_reports.count_tests(text) is None
