"""A read without scope: the workspace, and what the organization shares."""

from __future__ import annotations

import pytest

from common.caller import SYSTEM, Role
from context.task_context import TASK_PARTS
from memories.models import Memory
from memories.scopes import KEY_FIELDS
from projects.models import Organization, Project
from tests.isolation.world import API, posted

pytestmark = pytest.mark.django_db
TEXT = "The harbour crane is oiled on Mondays"
MODES = ("hybrid", "semantic", "keyword")


@pytest.fixture
def sister(organization):
    """Another project of Alice's organization."""
    return Project.objects.create(organization=organization, name="beta")


@pytest.fixture
def stored(alice_api, project):
    def make(scope=None, content=TEXT, **more):
        body = {"project_id": str(project.pk), "content": content, **more}
        body |= {"memory_type": "learning", "scope": scope, "file_paths": ["crane.py"]}
        return posted(alice_api, "memories", body)["id"]

    return make


def seen(client, project, **more):
    """The ids that search, list and task context give, each in every mode."""
    named = {"project_id": str(project.pk)}
    found = {m["id"] for m in client.get(f"{API}/memories", named).json()["results"]}
    for mode in MODES:
        asked = named | {"query": "harbour crane", "mode": mode} | more
        hits = posted(client, "search", asked)["hits"]
        found |= {hit["memory"]["id"] for hit in hits}
    asked = named | {"task_description": "oil the harbour crane in crane.py"}
    context = posted(client, "context", asked)
    return found | {hit["memory"]["id"] for hit in context["memories"]}


class TestScopes:
    @pytest.mark.parametrize(
        "scope",
        [
            {"kind": "user", "user_id": "u1"},
            {"kind": "session", "session_id": "s"},
            {"kind": "session", "session_id": "s", "user_id": "u1"},
            {"kind": "object", "object_type": "ticket", "object_id": "7"},
            {"kind": "workspace", "workspace_id": "elsewhere"},
        ],
        ids=str,
    )
    def test_a_row_of_another_kind_is_read_when_named_only(
        self, alice_api, project, stored, scope
    ):
        memory = stored(scope)

        assert memory not in seen(alice_api, project)
        assert memory in seen(alice_api, project, scope=scope)

    @pytest.mark.parametrize("kind", ["workspace", "org"])
    def test_the_shared_kinds_are_read(self, alice_api, project, stored, kind):
        assert stored({"kind": kind}) in seen(alice_api, project)

    def test_a_read_without_scope_says_that_workspaces_have_names(
        self, alice_api, project, stored
    ):
        named = {"project_id": str(project.pk), "query": "harbour crane"}
        stored()
        assert posted(alice_api, "search", named)["notes"] == []
        stored({"kind": "workspace", "workspace_id": "elsewhere"})

        [note] = posted(alice_api, "search", named)["notes"]
        assert "name a workspace in `scope`" in note

    def test_no_door_shows_a_task_of_another_workspace(self, alice_api, project):
        first, second = (
            {"kind": "workspace", "workspace_id": name} for name in ("one", "two")
        )
        goal = "Oil the harbour crane"
        task = {"goal": goal, "result": "It is oiled.", "agent_id": "coder"}
        edit = {"tool": "Edit", "arguments": {"file_path": "crane.py"}, "result": "ok"}
        task |= {"project_id": str(project.pk), "tool_usage": [edit], "feedback": ""}
        posted(alice_api, "complete-task", task | {"scope": first})
        doors = {
            "search": {"query": goal},
            "context": {"task_description": goal, "parts": [*TASK_PARTS, "digest"]},
            "context/invocation": {"question": goal},
            "episodes/retrieve": {"query": goal},
        }

        for path, body in doors.items():
            for scope in ({}, {"scope": second}):
                if scope and path in ("context/invocation", "episodes/retrieve"):
                    continue  # they name no scope
                sent = {"project_id": str(project.pk), **body, **scope}
                shown = str(alice_api.post(f"{API}/{path}", sent).json())
                assert "It is oiled." not in shown, (path, scope)
                assert "crane.py" not in shown, (path, scope)

    def test_a_user_and_a_session_by_query_string(self, alice_api, project, stored):
        scope = {"kind": "session", "session_id": "s", "user_id": "u1"}
        memory = stored(scope)
        asked = {"project_id": str(project.pk), "scope": "session", "session_id": "s"}
        others = alice_api.get(f"{API}/memories", asked).json()["results"]
        named = alice_api.get(f"{API}/memories", asked | {"user_id": "u1"}).json()

        assert others == []
        assert [row["id"] for row in named["results"]] == [memory]

    @pytest.mark.parametrize("key", [*KEY_FIELDS.values(), "object_type"])
    def test_a_key_of_a_scope_without_its_kind_is_refused(
        self, alice_api, project, key
    ):
        asked = {"project_id": str(project.pk), key: "u1"}
        answer = alice_api.get(f"{API}/memories", asked)

        assert answer.status_code == 400
        assert "scope=" in answer.json()["errors"][key][0]

    def test_a_key_of_another_kind_is_refused(self, alice_api, project):
        asked = {"project_id": str(project.pk), "scope": "workspace", "user_id": "u1"}
        answer = alice_api.get(f"{API}/memories", asked)

        assert answer.status_code == 400

    def test_the_graph_of_a_file_shows_the_shared_kinds_only(
        self, alice_api, project, stored
    ):
        shared = stored()
        stored({"kind": "user", "user_id": "u1"}, content="Only for me: the old crane")
        stored(content="The crane's safe is 7 7 7", sensitivity="sensitive")
        asked = {"project_id": str(project.pk), "path": "crane.py"}
        graph = alice_api.get(f"{API}/files/graph", asked).json()

        shown = [m["id"] for rows in graph["memories"].values() for m in rows]
        assert shown == [shared]
        assert graph["stats"]["memory_count"] == 1


class TestSensitivity:
    def test_a_sensitive_row_is_read_when_named_only(self, alice_api, project, stored):
        memory = stored(sensitivity="sensitive")

        assert memory not in seen(alice_api, project)
        assert memory in seen(alice_api, project, sensitivities=["sensitive"])

    def test_the_list_names_it_as_well(self, alice_api, project, stored):
        memory = stored(sensitivity="sensitive")
        asked = {"project_id": str(project.pk), "sensitivities": "sensitive"}
        found = alice_api.get(f"{API}/memories", asked).json()["results"]

        assert [row["id"] for row in found] == [memory]

    def test_it_is_no_duplicate_of_an_open_one(self, alice_api, project, stored):
        open_one = stored()
        memory = stored(sensitivity="sensitive")

        shown = alice_api.get(f"{API}/memories/{memory}").json()
        assert shown["duplicate_of"] is None
        assert seen(alice_api, project) == {open_one}


class TestOrganization:
    def test_another_project_reads_it_when_the_caller_may_read_both(
        self, client_of, project, sister, stored
    ):
        memory = stored({"kind": "org"})
        both = client_of(project, sister, role=Role.VIEWER)

        assert memory in seen(both, sister)
        assert both.get(f"{API}/memories/{memory}").status_code == 200

    def test_a_caller_of_the_other_project_alone_sees_nothing(
        self, client_of, sister, stored
    ):
        memory = stored({"kind": "org"})
        one = client_of(sister, role=Role.OWNER)

        assert seen(one, sister) == set()
        assert one.get(f"{API}/memories/{memory}").status_code == 404

    @pytest.mark.parametrize(
        "scope",
        [
            None,
            {"kind": "user", "user_id": "u1"},
            {"kind": "object", "object_type": "ticket", "object_id": "7"},
        ],
        ids=str,
    )
    def test_nothing_else_crosses_a_project(
        self, client_of, project, sister, stored, scope
    ):
        stored(scope)
        both = client_of(project, sister, role=Role.OWNER)

        assert seen(both, sister) == set()
        if scope:
            assert seen(both, sister, scope=scope) == set()

    def test_its_id_its_slug_and_its_name_are_one_scope(
        self, client_of, project, sister, stored
    ):
        Organization.objects.update(name="Acme Corp")
        organization = project.organization
        both = client_of(project, sister, role=Role.VIEWER)

        for number, key in enumerate((organization.pk, "acme", "ACME", "Acme Corp")):
            scope = {"kind": "org", "org_id": str(key)}
            memory = stored(scope, content=f"{TEXT}, note {number} of four")
            assert memory in seen(both, sister, scope=scope)

    def test_another_name_is_refused_with_the_right_one(self, alice_api, project):
        scope = {"kind": "org", "org_id": "another"}
        body = {"project_id": str(project.pk), "scope": scope}
        paths = {
            "memories": {"content": TEXT, "memory_type": "learning"},
            "search": {"query": TEXT},
            "context": {"task_description": TEXT},
            "memories/delete-by-scope": {},
        }
        for path, more in paths.items():
            answer = alice_api.post(f"{API}/{path}", body | more)
            assert answer.status_code == 400, path
            assert "send org_id acme" in str(answer.json()["errors"]), path

    def test_a_sensitive_one_is_not_shared_unnamed(
        self, client_of, project, sister, stored
    ):
        memory = stored({"kind": "org"}, sensitivity="sensitive")
        both = client_of(project, sister, role=Role.VIEWER)

        assert memory not in seen(both, sister)

    def test_another_organization_sees_nothing_even_by_a_key_for_both(
        self, client_of, project, other_project, stored
    ):
        stored({"kind": "org"})
        both = client_of(project, other_project, role=Role.OWNER)

        assert seen(both, other_project) == set()

    def test_what_is_deleted_or_hidden_is_shared_no_more(
        self, alice_api, client_of, project, sister, stored
    ):
        memory = stored({"kind": "org"})
        both = client_of(project, sister, role=Role.VIEWER)
        alice_api.delete(f"{API}/projects/{project.pk}")

        assert seen(both, sister) == set()
        assert both.get(f"{API}/memories/{memory}").status_code == 404


@pytest.mark.parametrize("is_deleted", [False, True])
@pytest.mark.parametrize("who", ["alice", "bob", "charlie", "SYSTEM"])
def test_the_rows_of_one_project_are_visible_to_whom_all_rows_show_them(
    request, stored, project, who, is_deleted
):
    caller = SYSTEM if who == "SYSTEM" else request.getfixturevalue(who)
    memory_id = stored()
    if is_deleted:
        project.hide()
        project.save()

    for rows in (
        Memory.objects.visible_to(caller),
        Memory.objects.visible_to(caller, project),
    ):
        is_shown = rows.filter(pk=memory_id).exists()
        assert is_shown == (who != "charlie" and not is_deleted)
