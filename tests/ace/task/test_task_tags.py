from __future__ import annotations

from ace.task import task, task_tags
from ace.task.file_paths import PathLink


def tags(goal="", result="", *, files=(), vocabulary=(), calls=()):
    request = {"goal": goal, "result": result, "tool_usage": list(calls)}
    links = [PathLink(path, "read") for path in files]
    return task_tags.find(task.parse(request), links, vocabulary)


class TestProjectVocabulary:
    def test_it_matches_whole_words_only(self):
        found = tags(
            "Repair billing", "Rebilling works", vocabulary=["billing", "bill"]
        )

        assert found == ["billing"]

    def test_a_tag_of_two_words_matches_its_phrase(self):
        assert tags("The user login page", vocabulary=["user-login"]) == ["user-login"]

    def test_it_keeps_the_projects_spelling(self):
        assert tags("we use django", vocabulary=["Django"]) == ["Django"]

    def test_the_order_is_that_of_the_text(self):
        found = tags("zeta before alpha", vocabulary=["alpha", "zeta"])

        assert found == ["zeta", "alpha"]


class TestLanguagesAndTechnologies:
    def test_a_files_type_names_its_language(self):
        assert tags(files=["a.py", "b.rs", "c.py"]) == ["python", "rust"]

    def test_known_technologies_are_named_once(self):
        assert tags("Postgres and PostgreSQL on Docker") == ["postgresql", "docker"]

    def test_everyday_words_are_no_technology(self):
        assert tags("Go and rest, react to spring") == ["react", "spring"]

    def test_commands_name_their_tools(self):
        call = {"tool_name": "Bash", "arguments": {"command": "pytest -q"}}

        assert tags(calls=[call]) == ["pytest"]

    def test_code_shows_its_language(self):
        assert tags("fn main() {\n") == ["rust"]


class TestLimits:
    def test_there_are_at_most_ten(self):
        words = [f"topic{number}" for number in range(30)]

        assert len(tags(" ".join(words), vocabulary=words)) == task_tags.MAX_TAGS

    def test_nothing_gives_nothing(self):
        assert tags() == []
