"""What a failed call and its cure teach the next agent."""

from __future__ import annotations

import pytest

from ace.lessons import fixes
from ace.rules import task as tasks
from playbook.lessons.lesson import Kind

# What failed, how it said so, and what then worked; a third call may stand between.
PLAIN_FAILURES = [
    ("npm run e2e", "> shop@1.4.0 e2e\n> playwright test\n\nError: BASE_URL environment variable is required\n    at Object.<anonymous> (/home/ana/shop/e2e/setup.ts:4:9)", "BASE_URL=http://localhost:3000 npm run e2e"),
    ("npm install", "npm ERR! code ERESOLVE\nnpm ERR! ERESOLVE unable to resolve dependency tree\nnpm ERR! Fix the upstream dependency conflict, or retry\nnpm ERR! this command with --legacy-peer-deps", "npm install --legacy-peer-deps"),
    ("npm run tests", 'npm error Missing script: "tests"\nnpm error\nnpm error Did you mean this?\nnpm error   npm run test # run the "test" package script', "npm run test"),
    ("cargo test --feature postgres", "error: unexpected argument '--feature' found\n\n  tip: a similar argument exists: '--features'", "cargo test --features postgres"),
    ("cargo build", "error: could not find `Cargo.toml` in `/home/ana/shop` or any parent directory", "cd backend && cargo build"),
    ("go test -tag=it ./ledger", "flag provided but not defined: -tag\nusage: go test [build/test flags] [packages]", "go test -tags=it ./ledger"),
    ("go test ./store", "--- FAIL: TestOpen (0.00s)\n    store_test.go:12: Binary was compiled with 'CGO_ENABLED=0', go-sqlite3 requires cgo to work.\nFAIL\tshop/store\t0.01s", "CGO_ENABLED=1 go test ./store"),
    ("mise run test", "[test] $ go test ./...\ngo: updates to go.mod needed; to update it:\n\tgo mod tidy\n[test] ERROR task failed", "go mod tidy", "mise run test"),
    ("pytest tests", "ImportError while loading conftest '/home/ana/shop/tests/conftest.py'.\nE   ModuleNotFoundError: No module named 'billing'", "uv run pytest tests"),
    ("pytest test/test_cart.py", "collected 0 items\n\nERROR: file or directory not found: test/test_cart.py", "pytest tests/test_cart.py"),
    ("pytest tests/integration", "tests/integration/conftest.py:8: in <module>\n    url = os.environ['DATABASE_URL']\nE   KeyError: 'DATABASE_URL'\n=== 1 error in 0.20s ===", "DATABASE_URL=postgres://localhost/test pytest tests/integration"),
    ("docker compose up --detached", "unknown flag: --detached", "docker compose up --detach"),
    ("docker build -t shop .", "ERROR: failed to solve: failed to read dockerfile: open Dockerfile: no such file or directory", "docker build -f docker/Dockerfile -t shop ."),
    ("terraform plan", "Error: No configuration files\n\nPlan requires configuration to be present.", "terraform -chdir=infra plan"),
    ("terraform plan", 'Error: No value for required variable\n\n  on variables.tf line 1:\n   1: variable "region" {}\n\nThe root module input variable "region" is not set', "terraform plan -var-file=dev.tfvars"),
    ("kubectl rollout status deployment/api", 'Error from server (NotFound): deployments.apps "api" not found', "kubectl -n shop rollout status deployment/api"),
    ("gradle test", "bash: gradle: command not found", "./gradlew test"),
    ("./gradlew test", "ERROR: JAVA_HOME is set to an invalid directory: /opt/jdk-8\n\nPlease set the JAVA_HOME variable in your environment", "JAVA_HOME=/usr/lib/jvm/java-21 ./gradlew test"),
    ("psql -c 'select 1'", 'psql: error: FATAL:  database "ana" does not exist', "psql -d shop -c 'select 1'"),
    ("psql shop -f schema.sql", 'psql: error: connection to server on socket "/var/run/postgresql/.s.PGSQL.5432" failed: No such file or directory', "psql -h localhost shop -f schema.sql"),
    ("rspec spec", "bash: rspec: command not found", "bundle exec rspec spec"),
    ("pip install shop[dev]", "zsh: no matches found: shop[dev]", "pip install 'shop[dev]'"),
    ("python manage.py migrate", "bash: python: command not found", "python3 manage.py migrate"),
    ("dotnet test", "MSBUILD : error MSB1003: Specify a project or solution file. The current working directory does not contain a project or solution file.", "dotnet test src/Shop.sln"),
    ("alembic upgrade head", "FAILED: No config file 'alembic.ini' found, or file has no '[alembic]' section", "cd backend && alembic upgrade head"),
    ("node server.js", "node:internal/modules/cjs/loader:1080\n  throw err;\n  ^\n\nError: Cannot find module '/home/ana/shop/server.js'", "node dist/server.js"),
    ("helm upgrade api ./chart", 'Error: UPGRADE FAILED: "api" has no deployed releases', "helm upgrade --install api ./chart"),
    ("mix test", "** (Mix) Could not find a Mix.Project, please ensure you are running Mix in a directory with a mix.exs file", "cd apps/web && mix test"),
    ("jest cart", "bash: jest: command not found", "npx jest cart"),
    ("ansible-playbook site.yml", "ERROR! Attempting to decrypt but no vault secrets found", "ansible-playbook site.yml --ask-vault-pass"),
]  # fmt: skip


def steps(command, error, *then):
    failed = {"tool_name": "Bash", "arguments": {"command": command}, "result": error, "status": "error"}  # fmt: skip
    cured = [{"tool_name": "Bash", "arguments": {"command": each}, "result": "ok", "status": "success"} for each in then]  # fmt: skip
    return [failed, *cured]


def taught(*calls):
    return fixes.find(tasks.parse({"tool_usage": calls}))


@pytest.mark.parametrize("failure", PLAIN_FAILURES, ids=lambda each: each[0])
def test_a_plain_failure_with_its_cure_is_taught(failure):
    command, error, *then = failure
    task = tasks.parse({"tool_usage": steps(command, error, *then)})

    (lesson,) = fixes.find(task)

    assert lesson.kind == Kind.FIX
    assert lesson.content.startswith("Run `")
    assert all(f"`{each}`" in lesson.content for each in then)
    assert len(lesson.content.split()) <= 40
    assert lesson.applies_to[0].startswith("tool:")
    for quote in lesson.quotes:
        assert quote.quote == task.text(quote.field)[quote.start : quote.end] != ""
    assert lesson.quotes[0].quote in error
