from __future__ import annotations

import pytest

from common.caller import Role
from tests.isolation import world as worlds
from tests.isolation.world import MARK, World


@pytest.fixture
def alices(client_of, project, monkeypatch):
    """Alice's project with one of everything, the word in every text."""
    worlds.let_agents_run(monkeypatch)
    project.description = project.repository_url = MARK
    project.save()
    alice = client_of(project, role=Role.OWNER)
    private = worlds.private_part(alice, project, MARK)
    ids = {
        "project_id": project.pk,
        "gone": worlds.a_deleted_project(client_of, MARK).pk,
        "scan": worlds.scanned(alice, project, private),
        **worlds.shared_part(alice, project, MARK),
        **private,
    }
    return World(project, MARK, ids)
