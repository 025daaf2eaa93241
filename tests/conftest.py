"""The cast is the same everywhere: Alice owns, Bob shares, Charlie must not see."""

from __future__ import annotations

import gc
import math
from collections import Counter

import pytest
from django.conf import settings as django_settings
from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType
from django.core.management.color import no_style
from django.db import connection, transaction
from django.test import TransactionTestCase
from hypothesis import HealthCheck, settings
from rest_framework.test import APIClient

from access import refusals
from access.models import ApiKey
from common.caller import Caller, Role
from inference.embedding import active_model, model_record
from inference.errors import InferenceError
from jobs import runner
from jobs.models import Job
from memory_project.celery import app as celery_app
from projects.models import Organization, Project

# As a worker does: every app registers the jobs that it can run.
celery_app.loader.import_default_modules()


def pytest_configure(config):
    # The collected static files exist in production only.
    config.addinivalue_line("filterwarnings", "ignore:No directory at:UserWarning")
    # Argon2 takes 0.1 s for each password, which is what it is for.
    django_settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    django_settings.EMBEDDING_PROVIDER = "fake"
    django_settings.LANGUAGE_PROVIDER = "none"
    # A test that is about throttles sets its own; Redis is shared by all tests.
    django_settings.THROTTLE_KEY = ""
    django_settings.THROTTLE_PROJECT = ""
    django_settings.THROTTLE_ANONYMOUS = ""
    # Otherwise each test client lists and reads the properties of all static files.
    django_settings.WHITENOISE_AUTOREFRESH = True
    # Each day tries fewer random texts than a run of the slow tests; none depends on load.
    examples = 30 if config.option.markexpr else 100
    settings.register_profile(
        "ours",
        max_examples=examples,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
    settings.load_profile("ours")


def pytest_collection_finish():
    """Keep the collector from walking, in every test, all that was loaded for all.

    As in gunicorn.conf.py. Measured on tests/access: 4 of 20 s of CPU.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    """Start the longest files first: one that came last would run alone at the end.

    A file is as long as the longest timeout that one of its tests asks for; of files
    that ask for none, one of many tests comes first.
    """
    tests, longest, first = Counter(item.path for item in items), {}, {}
    for number, item in enumerate(items):
        asked = item.get_closest_marker("timeout")
        seconds = asked.args[0] if asked else 0
        longest[item.path] = max(seconds, longest.get(item.path, 0))
        first.setdefault(item.path, number)

    def place(item):
        return -longest[item.path], -tests[item.path], first[item.path]

    items.sort(key=place)


@pytest.fixture(scope="session", autouse=True)
def _no_session_outlives_the_tests(django_db_setup, django_db_blocker):
    """A live server's thread may hold a connection that keeps its database alive.

    Where no test needed a database there is none: workers then share the empty one.
    """
    yield
    with django_db_blocker.unblock(), connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND datname LIKE 'test%'"
            " AND pid <> pg_backend_pid()"
            " AND backend_type = 'client backend'"
        )


# What `flush` deletes and then writes again, which takes longer than the deletion.
KEPT_TABLES = {ContentType._meta.db_table, Permission._meta.db_table}


def empty_tables(case):
    """Do what `flush` does after a test, but keep the rows that no test changes."""
    found = connection.introspection.django_table_names(only_existing=True)
    commands = connection.ops.sql_flush(no_style(), set(found) - KEPT_TABLES)
    connection.ops.execute_sql_flush(commands)


@pytest.fixture(scope="session", autouse=True)
def _transactional_tests_keep_permissions():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", empty_tables)
        yield


@pytest.fixture(autouse=True)
def _forget_other_tests():
    """No process of a test goes by the model or the refusals that another test recorded."""
    model_record._cache = (math.inf, None)
    refusals._next_audit.clear()


@pytest.fixture(scope="module")
def module_db(django_db_setup, django_db_blocker):
    """Keep the rows that fixtures of a module make until its end, and no longer.

    What a test writes is rolled back before, as always.
    """
    with django_db_blocker.unblock(), transaction.atomic():
        yield
        transaction.set_rollback(True)


def make_organization(slug="acme"):
    return Organization.objects.create(slug=slug)


def make_project(organization, name="alpha"):
    return Project.objects.create(organization=organization, name=name)


def make_client(*projects, role=Role.OWNER, **fields):
    """Make an API client for a new key: `make_client(project, role=Role.WRITER)`."""
    key, secret = ApiKey.new(name="test", role=role, everywhere=not projects, **fields)
    key.save()
    key.projects.set(projects)
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {secret}")
    client.key = key
    return client


@pytest.fixture
def organization(db):
    return make_organization()


@pytest.fixture
def project(organization):
    """Alice's project, which Bob shares."""
    return make_project(organization)


@pytest.fixture
def other_project(db):
    """Charlie's project, in another organization."""
    elsewhere = Organization.objects.create(slug="elsewhere")
    return Project.objects.create(organization=elsewhere, name="charlies")


@pytest.fixture
def alice(project):
    return Caller(name="alice", roles={project.pk: Role.OWNER}, may_attest=True)


@pytest.fixture
def bob(project):
    return Caller(name="bob", roles={project.pk: Role.WRITER})


@pytest.fixture
def charlie(other_project):
    return Caller(name="charlie", roles={other_project.pk: Role.OWNER})


@pytest.fixture
def client_of(db):
    return make_client


@pytest.fixture
def alice_api(client_of, project):
    return client_of(project, role=Role.OWNER, may_attest=True)


@pytest.fixture
def bob_api(client_of, project):
    return client_of(project, role=Role.WRITER)


@pytest.fixture
def charlie_api(client_of, other_project):
    return client_of(other_project, role=Role.OWNER)


@pytest.fixture
def refuse(monkeypatch):
    """Have the model refuse the texts that hold these words; what it is asked."""
    embed_by, asked = active_model.embed_with, []

    def refuse(words):
        def picky(model, texts):
            asked.append(texts)
            if any(words in text for text in texts):
                raise InferenceError("too odd", retryable=False)
            return embed_by(model, texts)

        monkeypatch.setattr(active_model, "embed_with", picky)
        return asked

    return refuse


@pytest.fixture
def run_jobs(db):
    """Run every job that is due, as a worker would, until none is left."""

    def run(limit=50):
        for _ in range(limit):
            job = Job.objects.due().order_by("pk").first()
            if job is None:
                return
            runner.run(job.pk)
        raise AssertionError("jobs keep coming")

    return run
