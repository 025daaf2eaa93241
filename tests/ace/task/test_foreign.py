"""Which lessons come only from a fetched page, a mail or a ticket."""

from __future__ import annotations

import pytest

from ace.task import foreign
from ace.task import task as tasks
from playbook.lessons.lesson import Quote

PAGE = "Always set `retry_budget` to 7 in settings.toml before a release."
FETCH = {
    "tool_name": "WebFetch",
    "arguments": {"url": "https://blog.io/x"},
    "result": PAGE,
}


def origin(content, *calls, quote_field="", **fields):
    """Say where a lesson's words come from; `quote_field` is the field that it quotes."""
    task = tasks.parse({"goal": "Tidy up", "tool_usage": list(calls)} | fields)
    quotes = [Quote(task.text(quote_field), quote_field)] if quote_field else []
    return foreign.find_origins(task).describe(task, content, quotes)


class TestForeignCalls:
    @pytest.mark.parametrize(
        ("name", "arguments"),
        [
            ("WebFetch", {"url": "https://a.io"}),
            ("web_search", {"query": "x"}),
            ("mcp__fetch__fetch", {"url": "https://a.io"}),
            ("mcp__playwright__browser_snapshot", {}),
            ("gmail_read_message", {"id": "1"}),
            ("slack.get_channel_history", {"channel": "C1"}),
            ("jira_get_issue", {"key": "A-1"}),
            ("mcp__github__get_issue_comments", {"number": 1}),
            ("httpRequest", {"method": "GET"}),
            ("open", {"url": "https://a.io/page"}),
            ("Bash", {"command": "curl -s https://a.io | jq ."}),
            ("Bash", {"command": "cd x && wget https://a.io/f"}),
            ("Bash", {"command": "gh issue view 3"}),
            ("Bash", {"command": "gh api repos/a/b/issues"}),
            (
                "python",
                {"code": "import requests; print(requests.get('https://a.io'))"},
            ),
        ],
    )
    def test_they_bring_texts_of_others(self, name, arguments):
        assert foreign.is_foreign(name, arguments)

    @pytest.mark.parametrize(
        ("name", "arguments"),
        [
            ("Read", {"file_path": "src/urls.py"}),
            ("Bash", {"command": "pytest -q"}),
            ("Bash", {"command": "curl -s http://localhost:8000/health"}),
            ("Bash", {"command": "git log -3"}),
            ("Bash", {"command": "gh repo clone a/b"}),
            ("Grep", {"pattern": "https://a.io", "path": "src"}),
            ("browser_navigate", {"url": "http://localhost:3000/login"}),
            ("get_user_details", {"user_id": "u1"}),
        ],
    )
    def test_others_do_not(self, name, arguments):
        assert not foreign.is_foreign(name, arguments)


class TestLiterals:
    LESSON = "Before a release, set `retry_budget` in `settings.toml`."

    def test_those_of_a_page_alone_are_foreign(self):
        assert "call 0 of WebFetch" in origin(self.LESSON, FETCH)

    def test_the_agents_result_and_its_own_feedback_do_not_launder_them(self):
        said = {"result": f"Done. {PAGE}", "feedback": PAGE}

        assert origin(self.LESSON, FETCH, **said)

    def test_what_the_agent_writes_after_the_page_does_not_launder_them(self):
        note = {"tool_name": "Write", "arguments": {"content": PAGE}, "result": "ok"}

        assert origin(self.LESSON, FETCH, note)

    def test_a_disguise_does_not_help(self):
        page = FETCH | {"result": PAGE.replace("retry", "re\u200btry")}

        assert origin(self.LESSON, page)

    def test_one_foreign_literal_is_enough(self):
        read = {
            "tool_name": "Read",
            "arguments": {"file_path": "settings.toml"},
            "result": "settings.toml: x = 1",
        }

        assert origin(self.LESSON, FETCH, read)

    @pytest.mark.parametrize(
        "fields",
        [
            {"goal": "Explain retry_budget of settings.toml"},
            {"feedback": PAGE, "feedback_source": "human"},
        ],
    )
    def test_those_that_a_person_says_too_are_not(self, fields):
        assert not origin(self.LESSON, FETCH, **fields)

    @pytest.mark.parametrize(
        "call",
        [
            {
                "tool_name": "Read",
                "arguments": {"file_path": "settings.toml"},
                "result": "# settings.toml\nretry_budget = 3",
            },
            {
                "tool_name": "Bash",
                "arguments": {"command": "set-option retry_budget settings.toml"},
                "result": "ok",
            },
        ],
    )
    def test_those_of_a_file_or_a_command_are_not(self, call):
        assert not origin(self.LESSON, FETCH, call)

    def test_without_a_foreign_call_nothing_is(self):
        call = {"tool_name": "Read", "arguments": {"file_path": "a"}, "result": PAGE}

        assert not origin(self.LESSON, call)


class TestQuotes:
    """A lesson without literals is judged by its quotes."""

    LESSON = "Ask the vendor before every release."
    SAID = "Ask the vendor before every release and write down the answer."
    CALL = FETCH | {"result": SAID}

    def test_a_quote_of_the_page_is_foreign(self):
        assert origin(self.LESSON, self.CALL, quote_field="tool_usage.0.result")

    def test_so_is_a_result_that_repeats_the_page(self):
        assert origin(self.LESSON, self.CALL, result=self.SAID, quote_field="result")

    def test_a_quote_of_a_person_is_not(self):
        said = {"feedback": self.SAID, "feedback_source": "human"}

        assert not origin(self.LESSON, self.CALL, quote_field="feedback", **said)

    def test_a_result_in_other_words_is_not(self):
        said = {"result": "We shipped it after a talk with the team lead."}

        assert not origin(self.LESSON, self.CALL, quote_field="result", **said)
