from __future__ import annotations

import shlex

import pytest
import yaml
from django.conf import settings

APPS = [
    app
    for app in settings.INSTALLED_APPS
    if (settings.BASE_DIR / app / "apps.py").exists()
]


@pytest.fixture
def compose():
    return yaml.safe_load((settings.BASE_DIR / "compose.yaml").read_text())


@pytest.fixture
def dockerfile():
    text = (settings.BASE_DIR / "Dockerfile").read_text()
    lines = text.replace("\\\n", " ").splitlines()
    return [line.split(" ", 1) for line in lines if line and not line.startswith("#")]


class TestCompose:
    def test_it_runs_every_process_of_the_service(self, compose):
        assert set(compose["services"]) == {
            "postgres",
            "redis",
            "migrate",
            "web",
            "worker",
            "beat",
        }

    def test_every_service_has_an_image_and_waits_for_services_that_exist(
        self, compose
    ):
        services = compose["services"]

        for service in services.values():
            assert service["image"]
            assert set(service.get("depends_on", ())) <= set(services)

    def test_every_volume_is_declared(self, compose):
        used = {
            volume.split(":")[0]
            for service in compose["services"].values()
            for volume in service.get("volumes", ())
        }

        assert used == set(compose["volumes"])

    def test_it_holds_no_secret(self, compose):
        given = compose["services"]["web"]["environment"]

        assert given["SECRET_KEY"].startswith("${SECRET_KEY:?")
        assert "${POSTGRES_PASSWORD:?" in given["DATABASE_URL"]

    def test_only_this_machine_reaches_the_web_server(self, compose):
        published = [
            port
            for service in compose["services"].values()
            for port in service.get("ports", ())
        ]

        assert published == ["127.0.0.1:8000:8000"]


class TestDockerfile:
    def test_it_runs_as_an_unprivileged_user(self, dockerfile):
        users = [value for word, value in dockerfile if word == "USER"]

        assert users == ["memory"]

    def test_it_checks_its_health(self, dockerfile):
        (check,) = [value for word, value in dockerfile if word == "HEALTHCHECK"]

        assert "/healthz" in check

    def test_it_copies_files_that_exist(self, dockerfile):
        copies = [shlex.split(value) for word, value in dockerfile if word == "COPY"]
        sources = [words[0] for words in copies if not words[0].startswith("--")]

        assert all((settings.BASE_DIR / source).exists() for source in sources)

    def test_it_takes_every_app_and_nothing_private(self):
        lines = (settings.BASE_DIR / ".dockerignore").read_text().splitlines()
        taken = {line.removeprefix("!") for line in lines if line.startswith("!")}

        assert lines[0] == "*"
        assert set(APPS) <= taken
        assert not taken & {".env", "var", "tests", ".git"}
