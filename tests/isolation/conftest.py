from __future__ import annotations

import pytest

from common.caller import Role
from tests.conftest import make_client, make_organization, make_project
from tests.isolation import world as worlds
from tests.isolation.world import MARK, World


@pytest.fixture(scope="module")
def alices_rows(module_db):
    """Alice's project with one of everything, the word in every text; once a module."""
    project = make_project(make_organization("alices"), "alices")
    project.description = project.repository_url = MARK
    project.save()
    alice = make_client(project, role=Role.OWNER)
    with pytest.MonkeyPatch.context() as patch:
        worlds.let_agents_run(patch)
        private = worlds.private_part(alice, project, MARK)
        ids = {
            "project_id": project.pk,
            "gone": worlds.a_deleted_project(make_client, MARK).pk,
            "scan": worlds.scanned(alice, project, private),
            **worlds.shared_part(alice, project, MARK),
            **private,
        }
    return World(project, MARK, ids)


@pytest.fixture
def alices(alices_rows, db, monkeypatch):
    worlds.let_agents_run(monkeypatch)
    return worlds.fresh(alices_rows)


@pytest.fixture
def project(request, db):
    """The project of the world that the test uses, or else an empty one."""
    for rows, world in (("alices_rows", "alices"), ("kept_rows", "kept")):
        if rows in request.fixturenames:
            return request.getfixturevalue(world).project
    return make_project(request.getfixturevalue("organization"))
