"""The API keeps its schema: no request gets a 5xx or an undocumented status.

SCHEMATHESIS_EXAMPLES=50 runs every phase with so many examples; the suite of every
day fuzzes only, with one of each.
"""

from __future__ import annotations

import logging
import os

import pytest
import schemathesis
from django.db import connections
from schemathesis.config import SchemathesisConfig
from schemathesis.engine import events, from_schema

from common.caller import Role
from tests.isolation.world import let_agents_run

ASKED = os.environ.get("SCHEMATHESIS_EXAMPLES")
EXAMPLES = int(ASKED or 1)
PHASES = {"fuzzing", "stateful"} | ({"coverage"} if ASKED else set())
SEED = 20_260_301
# A key that ended itself would end the run.
SPARED = ["keys_revoke", "keys_rotate"]
CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
    "unsupported_method",
    "ignored_auth",
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True),
    pytest.mark.timeout(3_600),
]


@pytest.fixture
def schema(live_server, client_of, project, settings, monkeypatch):
    # The server's threads outlive the test while the engine keeps its links open.
    monkeypatch.setitem(connections.settings["default"], "CONN_MAX_AGE", 0)
    let_agents_run(monkeypatch)
    # Each refused request is a line of the log, and there are thousands.
    logging.getLogger("django_structlog").setLevel(logging.ERROR)
    secret = client_of(role=Role.OWNER)._credentials["HTTP_AUTHORIZATION"]
    headers = {"Authorization": secret}
    given = {
        "seed": SEED,
        "headers": headers,
        "generation": {"max-examples": EXAMPLES, "no-shrink": True, "database": "none"},
        "checks": {
            "enabled": False,
            **{name: {"enabled": True} for name in CHECKS},
        },
        "phases": {"coverage": {"enabled": "coverage" in PHASES}},
        "continue-on-failure": True,
    }
    config = SchemathesisConfig.from_dict(given)
    loaded = schemathesis.openapi.from_url(
        f"{live_server.url}/api/schema", config=config, headers=headers
    )
    yield loaded.exclude(operation_id=SPARED)
    logging.getLogger("django_structlog").setLevel(settings.LOG_LEVEL)


def failures(event):
    for checks in event.recorder.checks.values():
        for found in (check.failure_info for check in checks if check.failure_info):
            yield f"{event.recorder.label}\n{found.failure}\n{found.code_sample}"


def test_no_request_breaks_it(schema):
    found, phases = [], set()
    for event in from_schema(schema).execute():
        if isinstance(event, events.ScenarioFinished):
            phases.add(event.phase.value)
            found += failures(event)
        elif isinstance(event, events.NonFatalError):
            found.append(f"{event.label}: {event.info.format()}")
        elif isinstance(event, events.FatalError):
            raise event.exception

    assert not found, "\n\n".join(dict.fromkeys(found))
    assert phases >= PHASES
