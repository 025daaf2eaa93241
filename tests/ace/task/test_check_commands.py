from __future__ import annotations

import pytest

from ace.task import check_commands, shell


@pytest.mark.parametrize(
    ("command", "kind", "pattern"),
    [
        ("go test -v ./a/... -run TestX 2>&1", "test", "go test -run <name> <path>"),
        ("go test -run TestY ./b -count=1", "test", "go test -run <name> <path>"),
        ("npm run lint", "lint", "npm run lint"),
        ("cd web && pnpm test:unit --silent", "test", "cd web && pnpm test:unit"),
        ("cd /home/ana/web && npm test", "test", "npm test"),
        ("PYTHONPATH=src pytest tests -q", "test", "PYTHONPATH=src pytest tests"),
        ("python -m pytest tests/test_a.py::test_b -q", "test", "python -m pytest <path>"),
        ("pytest -k 'one and two' -vv", "test", "pytest -k <name>"),
        ("cargo clippy --all-targets", "lint", "cargo clippy --all-targets"),
        ("cargo build --release", "build", "cargo build --release"),
        ("./gradlew :app:assembleDebug", "build", "./gradlew :app:assembleDebug"),
        ("ruff format .", "format", "ruff format ."),
        ("make fmt", "format", "make fmt"),
        ("mvn -Dtest=CartTest test", "test", "mvn test -Dtest <name>"),
        ("./scripts/test.sh --keep", "test", "./scripts/test.sh --keep"),
    ],
)  # fmt: skip
def test_a_check_has_a_kind_and_a_pattern(command, kind, pattern):
    (found,) = check_commands.find(command)

    assert (found.kind, found.pattern) == (kind, pattern)


@pytest.mark.parametrize(
    "command",
    ["git commit -m 'fix the test'", "cat tests/test_a.py", "rm -rf build", "ls", "echo test"],
)  # fmt: skip
def test_other_commands_are_no_checks(command):
    assert check_commands.find(command) == []


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("cd web && CI=1 npm test -- --silent 2>&1 | tail -5", "cd web && CI=1 npm test --"),
        ("time poetry run pytest tests", "poetry run pytest tests"),
        ("export PGHOST=db; cd api && pytest", "export PGHOST=db && cd api && pytest"),
        ("source .venv/bin/activate && pytest", "source .venv/bin/activate && pytest"),
    ],
)  # fmt: skip
def test_what_is_shown_can_be_run_as_it_stands(command, shown):
    (found,) = check_commands.find(command)

    assert found.text == shown


def test_a_path_of_one_machine_is_hidden():
    (found,) = check_commands.find("go build -o /home/ana/bin/shop ./cmd/shop")

    assert found.text == "go build -o <path> ./cmd/shop"


@pytest.mark.parametrize(
    ("line", "deciding"),
    [
        ("make test 2>&1", ["make test 2>&1"]),
        ("make a; make b && make c | tail", ["make b"]),
        ("make fmt && make lint", ["make fmt", "make lint"]),
        ("make lint || true", []),
        ("make serve &", []),
        ("make lint | tee log", []),
        ("cd web && pytest -k 'a|b; c'", ["cd web", "pytest -k 'a|b; c'"]),
    ],
)
def test_only_commands_whose_failure_is_that_of_the_line_decide(line, deciding):
    found = [part.strip() for part in shell.find_deciding(line).split("&&")]

    assert list(filter(None, found)) == deciding


@pytest.mark.parametrize(
    ("text", "core"),
    [
        ("SHOP_ENV=test pytest tests/cart", "pytest tests/cart"),
        ("export A=1 && cd web && npx vitest run", "vitest run"),
        ("poetry run pytest", "pytest"),
    ],
)
def test_the_core_of_a_check_stands_behind_folder_variables_and_wrapper(text, core):
    assert check_commands.core_of(text) == tuple(core.split())
