"""Requirement 001: "injected deterministically". The same rows and settings, the same bytes."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from django.conf import settings
from django.db import connection

from common.caller import SYSTEM
from context.digest import assemble

OPTIONS = {
    "structured": {"fact_keys": ["region", "python"], "tags": ["deploys", "5%"]},
    "semantic": {"enabled": True},
    "budgets": {"total": {"max_items": 30, "max_chars": 4_000}},
}
# The seed of the hashes differs, and so does the order of every set.
ASSEMBLE = """
import json, sys
from django.conf import settings

database, project_id, options = json.load(sys.stdin)
settings.DATABASES["default"]["NAME"] = database

import django
django.setup()
from common.caller import SYSTEM
from context.digest import assemble
from projects.models import Project

project = Project.objects.get(pk=project_id)
told = assemble.for_agent(project, SYSTEM, query="deploys run", overrides=options)
sys.stdout.buffer.write(told.text.encode())
"""


@pytest.mark.django_db(transaction=True)
def test_two_processes_write_the_same_bytes(remember, project):
    for number in range(12):
        kind = ("note", "procedure", "episode")[number % 3]
        remember(f"Deploys of team {number} run at {number}.", kind=kind)
    remember("Tagged.", tags=["z", "deploys", "5%", "a"], provenance={"channel": "c"})
    remember("Python 3.12", kind="fact", key="python", value={"b": 1, "a": [2]})
    remember("eu-west-1", kind="fact", key="region", value="eu-west-1")

    own = assemble.for_agent(project, SYSTEM, query="deploys run", overrides=OPTIONS)
    others = [assemble_elsewhere(project, seed) for seed in "12"]

    assert own.counts == {"facts": 2, "tags": 1, "keyword": 13, "semantic": 15}
    assert others == [own.text.encode()] * 2


def assemble_elsewhere(project, seed):
    environment = {
        "PYTHONHASHSEED": seed,
        "EMBEDDING_PROVIDER": settings.EMBEDDING_PROVIDER,
        "DJANGO_SETTINGS_MODULE": "memory_project.settings",
    }
    asked = [connection.settings_dict["NAME"], str(project.pk), OPTIONS]
    done = subprocess.run(
        [sys.executable, "-c", ASSEMBLE],
        input=json.dumps(asked).encode(),
        env=os.environ | environment,
        cwd=settings.BASE_DIR,
        capture_output=True,
        check=True,
        timeout=120,
    )
    return done.stdout
