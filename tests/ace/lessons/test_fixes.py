"""What a failed call and its cure teach the next agent."""

from __future__ import annotations

import pytest

from ace.lessons import fixes
from ace.task import task as tasks
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


def test_the_folder_that_a_client_says_is_quoted():
    failed, cured = steps("yarn build", "error no package.json was found", "yarn build")
    calls = [failed | {"cwd": "/srv/shop"}, cured | {"cwd": "/srv/shop/web"}]
    task = tasks.parse({"tool_usage": calls})

    (lesson,) = fixes.find(task)

    assert lesson.content == (
        'Run `yarn build` in `web`; elsewhere it fails with "error no package.json was found".'
    )
    assert ("tool_usage.1.cwd", "web") in [(q.field, q.quote) for q in lesson.quotes]
    for quote in lesson.quotes:
        assert quote.quote == task.text(quote.field)[quote.start : quote.end]


def call(name, result, /, **arguments):
    return {"tool_name": name, "arguments": arguments, "result": result}


@pytest.mark.parametrize(
    ("failed", "worked", "taught_words"),
    [
        (
            call("load", "TypeError: unexpected keyword argument 'table'", table="x"),
            call("load", "ok", dataset="x"),
            "Pass `dataset` instead of `table` when calling `load`",
        ),
        (
            call("bill", '{"error": "currency is required"}', customer="c1"),
            call("bill", '{"id": 5}', customer="c1", currency="EUR"),
            "Pass `currency` when calling `bill`",
        ),
        (
            call("resize", "Error: width must be an integer", width="300", name="a"),
            call("resize", "ok", width=300, name="a"),
            'Pass `width`: 300 instead of `width`: "300" when calling `resize`',
        ),
        (
            call("fetch", "Error: limit must be at most 100", id=1, limit=900),
            call("fetch", "[1]", id=1, limit=100),
            "Pass `limit`: 100 instead of `limit`: 900 when calling `fetch`",
        ),
        (
            call("send", "Error: no template Mail. Templates: welcome, goodbye.", template="Mail", to="a"),
            call("send", "sent", template="welcome", to="a"),
            'Pass `template`: "welcome" instead of `template`: "Mail" when calling `send`',
        ),
        (
            call("refund", "Error: voucher cannot be used to refund", order="a", method="voucher_7719"),
            call("refund", "ok", order="a", method="bank_card_5523"),
            'Pass a `method` that does not start with "voucher_" when calling `refund`',
        ),
        (
            call("Read", "File does not exist.", file_path=".golangci.yml"),
            call("Read", "linters:", file_path=".golangci.yaml"),
            "Open `.golangci.yaml`: there is no `.golangci.yml`.",
        ),
    ],
)  # fmt: skip
def test_an_argument_that_the_error_speaks_of_is_taught(failed, worked, taught_words):
    (lesson,) = taught(failed, worked)

    assert lesson.content.startswith(taught_words)


@pytest.mark.parametrize(
    ("failed", "worked"),
    [
        (call("do", "Error: order not found", order="W1234"), call("do", "ok", order="W9876")),
        (call("book", "Error: the price is 375, but paid 299", amount=299, n=1), call("book", "ok", amount=375, n=1)),
        (call("refund", "Error: gift card balance is not enough", method="gift_card_7719", n=1), call("refund", "ok", method="bank_card_5523", n=1)),
        (call("fly", "Error: not enough seats on HAT290", seat="HAT290", n=1), call("fly", "ok", seat="HAT271", n=1)),
        (call("api", "Error: invalid token", url="/v1", token="abc"), call("api", "ok", url="/v1", token="hunter")),
        (call("bill", "Error: balance of the payment is too low", customer="c1"), call("bill", "ok", customer="c1", card="x")),
        (call("Edit", "<error>File has not been read yet</error>", file_path="a.py"), call("Edit", "ok", file_path="a.py", old="x")),
    ],
)  # fmt: skip
def test_a_value_of_one_task_is_not_taught(failed, worked):
    assert not taught(failed, worked)


@pytest.mark.parametrize(
    ("command", "error", "worked"),
    [
        ("go test -tag=it -run TestCart ./a", "flag provided but not defined: -tag", "go test -tags=it -run TestCart ./a"),
        ("make check", "make: *** No rule to make target 'check'. Stop.", "make -C /home/ana/other check"),
        ("deploy run --fast app", "Error: unknown option --fast", "deploy run --dry app || true"),
        ("load --all", "load: error: missing option --url", "load --all --url postgres://u:hunter2secret@db.example/x"),
        ("psql shop", "fe_sendauth: no password supplied", "PGPASSWORD=shop psql shop"),
        ("sed -i s/a/b/ x", "sed: command not found", "gsed -i s/a/b/ x"),
    ],
)  # fmt: skip
def test_what_is_of_one_test_or_machine_or_secret_is_not_taught(command, error, worked):
    assert not taught(*steps(command, error, worked))


def test_a_change_of_a_file_in_between_may_be_the_cure():
    failed, cured = steps("python a.py --fast", "error: cannot start", "python a.py")
    edit = call("Edit", "ok", file_path="a.py", old_string="x", new_string="y")

    assert not taught(failed, edit, cured)
