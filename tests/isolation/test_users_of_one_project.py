"""Two users of one project: u2 never sees rows of u1's user and session scopes."""

from __future__ import annotations

import itertools
import uuid

import pytest
from django.db import transaction

from audit.models import AuditEvent
from common.caller import SYSTEM, Role
from jobs.models import Job
from memories.models import File, Memory, MemoryFile, Tag
from memories.store import search_columns, tags
from search import statistics
from tests.conftest import make_client, make_organization, make_project
from tests.isolation import world as worlds
from tests.isolation.route_table import TABLE, send
from tests.isolation.test_every_route import answer_texts
from tests.isolation.world import API, MARK, World, posted, remember, undone

pytestmark = pytest.mark.django_db
SHARED = "harbour"
MODES = ("hybrid", "semantic", "keyword")
SCOPES = ({"kind": "user"}, {"kind": "session", "session_id": "morning"})


@pytest.fixture
def key_of(client_of, project):
    def make(user, role=Role.OWNER):
        return client_of(project, role=role, user_id=user)

    return make


@pytest.fixture(scope="module", params=SCOPES, ids=lambda scope: scope["kind"])
def scope(request):
    return request.param


@pytest.fixture(scope="module")
def kept_rows(module_db, scope):
    """Rows of u1's scope, with the word in every text."""
    with transaction.atomic():
        project = make_project(make_organization("users"), "users")
        u1 = make_client(project, role=Role.OWNER, user_id="u1")
        with pytest.MonkeyPatch.context() as patch:
            worlds.let_agents_run(patch)
            private = worlds.private_part(u1, project, MARK, scope=scope)
            task = worlds.private_task(u1, project, MARK, scope)
        kept = {f"task_{name}": pk for name, pk in task.items()}
        yield World(project, MARK, {"project_id": project.pk, **private, **kept})
        transaction.set_rollback(True)


@pytest.fixture
def kept(kept_rows, db, monkeypatch):
    worlds.let_agents_run(monkeypatch)
    return worlds.fresh(kept_rows)


@pytest.fixture
def ours(kept, client_of, project):
    """The same with rows that the project shares, which do not have the word."""
    shared = client_of(project, role=Role.OWNER)
    kept.ids["gone"] = worlds.a_deleted_project(client_of, SHARED).pk
    kept.ids["scan"] = worlds.scanned(shared, project, kept.ids)
    kept.ids |= worlds.shared_part(shared, project, SHARED)
    return kept


TASK = ("task_run", "task_memory", "task_delta")


def hidden_from(answer, route, world):
    """Return private words and ids of an answer that are not in its request."""
    text = answer_texts(answer, route, world)
    private = ("memory", "duplicate", "other", "deleted", "sensitive", "pair", "delta")
    private += ("compacted", *TASK)
    private += ("session", "summary", "constraint")
    private += ("fact", "episode", "conversation", "invocation")
    words = [MARK, *(getattr(world, name) for name in private)]
    return [word for word in words if word in text]


class TestEveryRoute:
    def test_u2_reads_nothing_of_u1(self, ours, key_of):
        clients, wrong = [key_of("u2", Role.WRITER), key_of("u2", Role.OWNER)], []
        for u2, route in itertools.product(clients, TABLE):
            with undone():
                answer = send(u2, route, ours)
            if answer.status_code >= 500:
                wrong.append(f"{route.name}: {answer.status_code}")
            if route.is_private and answer.status_code != route.stranger:
                wrong.append(f"{route.name}: {answer.status_code} {answer.content!r}")
            if found := hidden_from(answer, route, ours):
                wrong.append(f"{route.name} tells {found}: {answer.content!r}")

        assert not wrong, "\n".join(wrong)

    def test_u2_reaches_nothing_that_a_task_of_u1_left(self, ours, key_of):
        left = {name: ours.ids[f"task_{name}"] for name in ("run", "memory", "delta")}
        left["stuck"] = left["run"]
        world = World(ours.project, MARK, ours.ids | left)
        u2, wrong = key_of("u2"), []
        for route in TABLE:
            if not set(route.path) & set(left) or route.method == "DELETE":
                continue
            with undone():
                answer = send(u2, route, world)
            if answer.status_code != 404 or hidden_from(answer, route, world):
                wrong.append(f"{route.name}: {answer.status_code} {answer.content!r}")

        assert not wrong, "\n".join(wrong)

    def test_u2_changes_nothing_of_u1(self, ours, key_of):
        rows = Memory.objects.filter(title=MARK).light().order_by("pk")
        before = list(rows.values("pk", "version", "deleted_at", "is_duplicate"))
        for route in TABLE:
            if route.is_private or "delete-by-scope" in route.route:
                send(key_of("u2"), route, ours)

        after = list(rows.values("pk", "version", "deleted_at", "is_duplicate"))
        assert after == before != []

    def test_u1_reads_its_own(self, ours, key_of):
        u1, silent = key_of("u1"), []
        for route in TABLE:
            if route.is_private:
                with undone():
                    answer = send(u1, route, ours)
                if not 200 <= answer.status_code < 300:
                    silent.append(f"{route.name}: {answer.content!r}")

        # The delta is its own key's proposal only for the key that made it.
        assert not silent, "\n".join(silent)

    def test_filters_by_u1s_ids_return_nothing_to_u2(self, ours, key_of, project):
        u2 = key_of("u2")
        asked = {"project_id": str(project.pk)}
        for path, name, value in [
            ("audit", "object_id", ours.memory),
            ("memories", "tags", f"{MARK}-tag"),
            ("memories", "file_paths", ours.file),
            ("memories", "agent_id", u2.key.prefix),
            ("tags", "q", MARK),
            ("files", "path", ours.file),
        ]:
            found = u2.get(f"{API}/{path}", asked | {name: value})

            assert found.json()["results"] == [], path
        found = u2.get(f"{API}/proposals", asked | {"status": "pending"})
        waiting = {each["id"] for each in found.json()["results"]}
        assert str(ours.ids["task_delta"]) not in waiting  # others' may be shared


@pytest.mark.parametrize("action", ["deduplications", "compactions"])
def test_a_bound_key_cannot_start_jobs_for_all_users(key_of, project, action):
    asked = {"project_id": str(project.pk)}
    answer = key_of("u2").post(f"{API}/{action}", asked)

    assert answer.status_code == 403
    assert "bound to a user" in answer.json()["detail"]
    assert not Job.objects.filter(project_id=project.pk).exists()


class TestReadingAForeignScope:
    @pytest.mark.parametrize("role", [Role.WRITER, Role.OWNER])
    def test_it_is_not_there(self, kept, key_of, scope, role):
        u2, foreign = key_of("u2", role), scope | {"user_id": "u1"}
        asked = {"project_id": str(kept.project.pk)}
        flat = {"scope" if k == "kind" else k: v for k, v in foreign.items()}
        body = {"content": "A memory for another", "memory_type": "learning"}

        for answer in (
            u2.get(f"{API}/memories", asked | flat),
            u2.post(f"{API}/memories", asked | body | {"scope": foreign}),
            u2.post(f"{API}/search", asked | {"query": MARK, "scope": foreign}),
        ):
            assert answer.status_code == 404, answer.content
            assert MARK not in answer.content.decode()

    def test_it_is_not_deleted(self, kept, key_of, scope):
        foreign = scope | {"user_id": "u1"}
        asked = {"project_id": str(kept.project.pk), "scope": foreign}
        answer = key_of("u2").post(f"{API}/memories/delete-by-scope", asked)

        assert answer.status_code == 404

    def test_a_user_id_in_the_body_does_not_make_another_user(self, kept, key_of):
        found = posted(
            key_of("u2"),
            "memories",
            {
                "project_id": str(kept.project.pk),
                "content": "Written by u2 in the name of u1",
                "memory_type": "learning",
                "user_id": "u1",
                "scope": {"kind": "user"},
            },
        )

        assert found["memory"]["user_id"] == "u2"
        assert found["memory"]["scope"] == {"kind": "user", "user_id": "u2"}

    def test_a_session_without_a_user_is_the_callers_own(self, kept, key_of):
        asked = {
            "project_id": str(kept.project.pk),
            "scope": "user",
            "session_id": "morning",
            "include_narrower": "true",
        }

        assert key_of("u2").get(f"{API}/memories", asked).json()["results"] == []

    def test_a_service_reads_the_session_of_the_user_that_it_asks_for(
        self, kept, client_of
    ):
        asked = {
            "project_id": str(kept.project.pk),
            "scope": "user",
            "user_id": "u1",
            "session_id": "morning",
            "include_narrower": "true",
        }

        found = client_of(kept.project).get(f"{API}/memories", asked).json()["results"]

        assert kept.memory in [memory["id"] for memory in found]


class TestSearch:
    @pytest.fixture
    def asked(self, kept):
        rows = Memory.objects.current()
        statistics.rebuild(rows, project_id=kept.project.pk, name=search_columns.CORPUS)
        return {
            "project_id": str(kept.project.pk),
            "query": f"{MARK} deploys blue script",
            "explain": True,
        }

    def test_u2_finds_nothing_in_any_mode(self, kept, key_of, asked):
        u2 = key_of("u2")
        for mode, own, named in itertools.product(
            MODES, [None, *SCOPES], [None, ["sensitive"], ["private", "public"]]
        ):
            more = {"mode": mode, "scope": own, "include_duplicates": True}
            if named:
                more["sensitivities"] = named
            answer = u2.post(f"{API}/search", asked | more)

            assert answer.status_code == 200
            titles = [hit["memory"]["title"] for hit in answer.json()["hits"]]
            assert MARK not in titles, more
            assert kept.memory not in answer.content.decode()

    def test_u1_finds_its_own_except_the_sensitive(self, kept, key_of, asked, scope):
        for mode in MODES:
            found = posted(
                key_of("u1"), "search", asked | {"mode": mode, "scope": scope}
            )

            ids = [hit["memory"]["id"] for hit in found["hits"]]
            assert ids[0] == kept.memory
            assert kept.sensitive not in ids

    def test_u1s_words_do_not_count_for_u2(self, key_of, asked):
        more = {"query": f"{MARK} {uuid.uuid4().hex}"}
        shown = posted(key_of("u2"), "search", asked | more)["explanation"]

        known, unknown = shown["terms"][:2]
        del known["lexeme"], unknown["lexeme"]
        assert known == unknown
        assert shown["keyword_lane"] is None


class TestTaskContext:
    @pytest.fixture
    def ask(self, kept):
        asked = {
            "project_id": str(kept.project.pk),
            "task_description": f"{MARK} deploys with the blue script in {kept.file}",
            "top_k": 50,
        }

        def post(client):
            found = client.post(f"{API}/context", asked).json()
            return found, [each["memory"]["id"] for each in found["memories"]]

        return post

    def test_nobody_else_gets_rows_of_a_private_scope(
        self, ask, kept, key_of, client_of
    ):
        of_other, ids = ask(key_of("u2"))
        _, ids_of_unbound = ask(client_of(kept.project, role=Role.OWNER))

        assert kept.memory not in ids + ids_of_unbound
        assert of_other["files"] == []

    def test_the_key_of_a_user_reads_the_users_scope_and_no_session(
        self, ask, kept, key_of, scope
    ):
        _, ids = ask(key_of("u1"))

        assert (kept.memory in ids) == (scope["kind"] == "user")


class TestSessionsOfOneName:
    BODY = {"content": "The same words in two mornings", "memory_type": "learning"}

    def stored(self, client, project, scope):
        body = self.BODY | {"project_id": str(project.pk), "scope": scope}
        return posted(client, "memories", body)

    def test_the_same_text_of_two_users_is_no_duplicate(self, key_of, project, scope):
        first = self.stored(key_of("u1"), project, scope)
        second = self.stored(key_of("u2"), project, scope)

        assert first["status"] == second["status"] == "stored"
        assert second["duplicate_of"] is None
        assert second["possible_duplicates"] == []

    def test_each_user_reads_its_own(self, key_of, project, scope):
        asked = {f"{scope['kind']}_id": v for v in [scope.get("session_id")] if v}
        asked |= {"project_id": str(project.pk), "scope": scope["kind"]}
        for user in ("u1", "u2"):
            stored = self.stored(key_of(user), project, scope)["id"]
            found = key_of(user).get(f"{API}/memories", asked).json()["results"]

            assert [memory["id"] for memory in found] == [stored]

    def test_deleting_one_leaves_the_other(self, key_of, project, scope):
        mine = self.stored(key_of("u1"), project, scope)["id"]
        self.stored(key_of("u2"), project, scope)
        asked = {"project_id": str(project.pk), "scope": scope}
        done = posted(key_of("u2"), "memories/delete-by-scope", asked)

        assert done == {"deleted": 1}
        assert key_of("u1").get(f"{API}/memories/{mine}").status_code == 200


class TestATagOfBoth:
    @pytest.fixture
    def carried(self, key_of, project, scope):
        """The ids of a memory of each user, and of the tag that both carry."""
        mine, other = (
            remember(key_of(user), project, text, "x", tags=["deploy"], scope=scope)
            for user, text in (("u2", "Mine to tag"), ("u1", "Not mine to tag"))
        )
        return mine, other, Tag.objects.get(name="deploy").pk

    @pytest.mark.parametrize("action", ["rename", "merge", "delete"])
    def test_it_does_not_change_for_the_other(self, carried, key_of, project, action):
        mine, other, tag = carried
        u2, path = key_of("u2"), f"{API}/tags/{tag}"
        tags.create(project, SYSTEM, name="ship")
        answer = {
            "rename": lambda: u2.patch(path, {"name": "sail"}),
            "merge": lambda: u2.post(f"{path}/merge", {"into": "ship"}),
            "delete": lambda: u2.delete(path),
        }[action]()

        left = {"rename": ["sail"], "merge": ["ship"], "delete": []}[action]
        assert answer.status_code in (200, 204), answer.content
        assert Memory.objects.get(pk=mine).tags == left
        assert Memory.objects.get(pk=other).tags == ["deploy"]
        assert Memory.objects.get(pk=other).version == 1
        assert Tag.objects.get(pk=tag).name == "deploy"
        assert Tag.objects.filter(name__in=left).count() == len(left)

    def test_it_goes_with_the_last_memory_that_carries_it(self, carried, key_of):
        _, _, tag = carried
        for user in ("u1", "u2"):
            assert Tag.objects.filter(pk=tag).exists()
            assert key_of(user).delete(f"{API}/tags/{tag}").status_code == 204

        assert not Tag.objects.filter(pk=tag).exists()


class TestWhatIsLeftBehind:
    """A word of u1 stays hidden after its memory no longer has it."""

    def lists(self, client, project):
        asked = {"project_id": str(project.pk)}
        return "".join(
            client.get(f"{API}/{path}", asked).content.decode()
            for path in ("tags", "files", "memories", "possible-duplicates", "audit")
        )

    def test_a_tag_and_a_file_that_nothing_carries_any_more(
        self, kept, key_of, project
    ):
        u1 = key_of("u1")
        for name in ("memory", "duplicate", "other", "sensitive", "deleted"):
            u1.post(f"{API}/memories/{getattr(kept, name)}/restore", {})
            path = f"{API}/memories/{getattr(kept, name)}"
            changed = u1.patch(path, {"tags": [], "file_paths": []})

            assert changed.status_code == 200, changed.content

        assert MARK not in self.lists(key_of("u2"), project)

    def test_a_tag_that_a_finished_task_names(self, kept, key_of, project):
        task = {"goal": f"Look at the {MARK}-tag of it", "result": "It was looked at"}
        asked = task | {"project_id": str(project.pk)}
        other, mine = (
            posted(key_of(user), "complete-task", asked | {"feedback": user})["tags"]
            for user in ("u2", "u1")
        )

        assert f"{MARK}-tag" not in other
        assert f"{MARK}-tag" in mine

    def test_what_was_deleted(self, kept, key_of, project, scope):
        asked = {"project_id": str(project.pk), "scope": scope}
        posted(key_of("u1"), "memories/delete-by-scope", asked)

        assert MARK not in self.lists(key_of("u2"), project)

    def test_the_vocabulary_of_the_project_stays_visible(
        self, key_of, client_of, project
    ):
        curator = client_of(project, role=Role.CURATOR)
        asked = {"project_id": str(project.pk)}
        posted(curator, "tags", asked | {"name": "deploy"})
        remember(key_of("u1"), project, "A private word", "x", tags=["deploy"])
        found = key_of("u2").get(f"{API}/tags", asked).json()["results"]

        assert [tag["name"] for tag in found] == ["deploy"]

    def test_creating_a_tag_reveals_nothing_of_a_hidden_one(
        self, kept, key_of, project
    ):
        u2 = key_of("u2")
        asked = {"project_id": str(project.pk), "name": f"{MARK}-tag"}
        made = posted(u2, "tags", asked | {"description": "mine"}, status=(201,))

        assert made["usage_count"] == 0
        assert Tag.objects.filter(name=f"{MARK}-tag").count() == 1
        asked = {"project_id": str(project.pk), "q": MARK}
        listed = u2.get(f"{API}/tags", asked).json()["results"]
        assert [tag["id"] for tag in listed] == [made["id"]]

    def test_renaming_a_tag_reveals_nothing_of_a_hidden_one(
        self, kept, key_of, project
    ):
        u2 = key_of("u2", role=Role.CURATOR)
        own = {"project_id": str(project.pk), "name": "mine", "description": "my own"}
        made = posted(u2, "tags", own, status=(201,))
        renamed = u2.patch(f"{API}/tags/{made['id']}", {"name": f"{MARK}-tag"})

        assert (renamed.status_code, renamed.json()["usage_count"]) == (200, 0)
        assert renamed.json()["description"] == "my own"
        names = Tag.objects.filter(project=project).values_list("name", flat=True)
        assert sorted(names) == sorted({*names}) and "mine" not in names

    def test_a_file_of_both_counts_for_each_its_own(self, kept, key_of, project):
        u2 = key_of("u2")
        remember(u2, project, "I read it, too", "x", tags=[], file_paths=[kept.file])
        asked = {"project_id": str(project.pk), "path": kept.file}
        [found] = u2.get(f"{API}/files", asked).json()["results"]
        graph = u2.get(f"{API}/files/graph", asked).json()

        assert found["memory_count"] == 1
        assert File.objects.filter(file_path=kept.file).count() == 1
        assert f"{MARK}-tag" not in str(graph)
        assert graph["related_files"] == []

    @pytest.mark.parametrize("digest", ["2", None])
    def test_a_sync_counts_for_each_its_own_links(self, kept, key_of, project, digest):
        u2, named = key_of("u2"), {"project_id": str(project.pk)}
        remember(u2, project, "I read it, too", "x", tags=[], file_paths=[kept.file])
        told = [
            posted(
                u2, "files/sync", named | {"files": [{"path": kept.file, "hash": at}]}
            )
            for at in ("1", digest)
        ]

        assert [answer["suspect"] for answer in told] == [0, 1]
        assert MemoryFile.objects.exclude(suspect_since=None).count() > 1
        details = u2.get(f"{API}/audit", named | {"verb": "file.sync"}).json()
        assert {row["detail"]["suspect"] for row in details["results"]} == {0, 1}

    def test_a_file_is_renamed_to_a_hidden_one_as_to_a_new_one(
        self, kept, key_of, project
    ):
        u2, named = key_of("u2"), {"project_id": str(project.pk)}
        seen = [{"path": path, "hash": "1"} for path in ("a.py", "b.py")]
        posted(u2, "files/sync", named | {"files": seen})
        told = [
            posted(u2, "files/rename", named | {"old_path": old, "new_path": new})
            for old, new in (("a.py", kept.file), ("b.py", "src/unknown.py"))
        ]
        for file in told:
            del file["id"], file["file_path"]

        assert told[0] == told[1]

    @pytest.mark.parametrize("action", ["linked", "synced", "renamed"])
    def test_a_file_of_both_has_no_history_for_either(
        self, kept, key_of, project, action
    ):
        u2, named = key_of("u2"), {"project_id": str(project.pk)}
        moved = named | {"old_path": kept.file, "new_path": "src/open.py"}
        posted(key_of("u1"), "files/rename", moved)
        path = "src/mine.py" if action == "renamed" else "src/open.py"
        if action == "synced":
            seen = [{"path": path, "hash": "1"}]
            posted(u2, "files/sync", named | {"files": seen})
        else:
            remember(u2, project, "I read it, too", "x", tags=[], file_paths=[path])
        answers = []
        if action == "renamed":
            moved = named | {"old_path": path, "new_path": "src/open.py"}
            answers.append(posted(u2, "files/rename", moved))
        asked = named | {"path": "src/open.py"}
        answers += u2.get(f"{API}/files", asked).json()["results"]
        graph = u2.get(f"{API}/files/graph", asked).json()

        assert graph["stats"]["first_seen_at"] is graph["stats"]["last_seen_at"] is None
        for file in [*answers, graph["file"]]:
            assert file["renamed_from"] == []
            assert file["first_seen_at"] is file["last_seen_at"] is None


class TestReplaysAndRecords:
    def test_u1s_idempotency_key_gives_u2_nothing(self, key_of, project, scope):
        body = {
            "project_id": str(project.pk),
            "content": f"{MARK} again and again",
            "memory_type": "learning",
            "scope": scope,
        }
        sent = {"headers": {"Idempotency-Key": "the same"}}
        first = key_of("u1").post(f"{API}/memories", body, **sent).json()
        answer = key_of("u2").post(f"{API}/memories", body, **sent)

        assert answer.status_code == 201
        assert answer.json()["id"] != first["id"]

    def test_a_bound_owner_reads_its_own_audit_only(self, kept, key_of, project):
        u2 = key_of("u2")
        remember(u2, project, "Something of my own", "x")
        asked = {"project_id": str(project.pk)}
        rows = u2.get(f"{API}/audit", asked).json()["results"]

        assert rows
        assert {row["key_id"] for row in rows} == {str(u2.key.pk)}
        assert AuditEvent.objects.exclude(key_id=u2.key.pk).exists()

    def test_a_superseding_memory_is_not_named_to_others(self, key_of, project, scope):
        u1, u2 = key_of("u1"), key_of("u2")
        shared = remember(u1, project, "Everybody knows this", "x")
        private = remember(u1, project, f"{MARK} knows better", "x", scope=scope)
        answer = u1.post(f"{API}/memories/{shared}/supersede", {"by": private})

        assert answer.status_code == 400
        assert private not in u2.get(f"{API}/memories/{shared}").content.decode()
