"""Measure the time and the queries of every page for people in a large project."""

from __future__ import annotations

import gc
import statistics
import time
from argparse import ArgumentParser
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.contrib import admin
from django.contrib.auth.models import User
from django.core.management.base import CommandError
from django.db import connection
from django.db.models import Model
from django.test import Client

from access.models import ApiKey
from agents.models import AgentRun
from bench.fixtures import population, temp_project
from bench.fixtures.large_fixture import (
    large_agents,
    large_memories,
    large_playbook,
    large_sessions,
    service_traffic,
)
from bench.fixtures.population import Passages
from bench.options import BenchmarkOptions
from bench.report.progress_bar import ProgressBar
from common.admin.model_admin import RowsAdmin
from common.caller import Caller, Role
from conversations.models import Session, Summary
from memories.models import Memory
from playbook.models import Playbook
from projects.models import Project
from tests.support import page_addresses
from tests.support.page_addresses import PageAddress, PageSubjects

HELP = "Server time and queries of every page for people, in a large project."
MEMORIES, ENTRIES, PROPOSALS, TASKS = 100_000, 5_000, 2_000, 300
ROUNDS = 5
MAX_MS = 300  # the longest time allowed for a page
SETTINGS = {"policy": "auto", "budgets": {"playbook_tokens": 1_000_000}}
OWNER, SUPERUSER = "owner", "superuser"
OK, FORBIDDEN = 200, 403
# Models of which the console has a page of a row, and the admin has none.
CONSOLE_MODELS = (Session, Summary, AgentRun)


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--memories", type=int, default=MEMORIES)
    parser.add_argument("--entries", type=int, default=ENTRIES)
    parser.add_argument("--proposals", type=int, default=PROPOSALS)
    parser.add_argument("--tasks", type=int, default=TASKS, help="runs, jobs, calls")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="of each page")
    parser.add_argument(
        "--only", nargs="+", metavar="ROUTE", help="such as console:home; default: all"
    )


def run(options: BenchmarkOptions) -> dict[str, Any]:
    extra = options.extra
    passages = population.load_passages(options.data)
    with temp_project.create_project(
        "pages", keep=options.keep, settings=SETTINGS
    ) as project:
        fill_project(project, extra, passages)
        _maintain_tables()
        with create_people(project, keep=options.keep) as browsers:
            subjects = page_subjects(project, passages)
            pages = _choose_pages(subjects, extra["only"])
            # The web server does the same after it has loaded its code
            # (gunicorn.conf.py).
            gc.collect()
            gc.freeze()
            results = (
                measure_page(page, browsers, extra["rounds"])
                for page in ProgressBar("pages", len(pages)).over(pages)
            )
            rows = [row for row in results if row]
    sizes = {name: extra[name] for name in ("memories", "entries", "proposals")}
    missing = sorted(set(admin.site._registry) - set(subjects.rows), key=str)
    without = [str(model._meta.verbose_name) for model in missing]
    return {"rows": rows, "most_ms": MAX_MS, "without_rows": without, **sizes}


def _choose_pages(
    subjects: PageSubjects, only: Collection[str] | None
) -> list[PageAddress]:
    """Return the pages of the routes `only`, or all; CommandError for an unknown one."""
    pages = list(page_addresses.find_pages(subjects))
    if not only:
        return pages
    if unknown := set(only) - {page.route for page in pages}:
        raise CommandError(f"No page has the route {', '.join(sorted(unknown))}.")
    return [page for page in pages if page.route in only]


def fill_project(
    project: Project, sizes: Mapping[str, Any], passages: Passages
) -> None:
    # First, because the pages of one row show the newest memory and the newest session.
    large_agents.write_runs(project, sizes["tasks"], passages)
    large_memories.write_memories(project, sizes["memories"], passages)
    large_playbook.complete_tasks(project, sizes["tasks"], passages)
    large_playbook.write_rules(project, sizes["entries"], passages)
    large_playbook.record_use(project, sizes["entries"])
    project.settings |= {"policy": "manual"}
    project.save(update_fields=["settings"])
    large_playbook.propose_lessons(project, sizes["proposals"], passages)
    large_playbook.reject_newest(project, sizes["proposals"] // 10)
    large_memories.correct_newest(project)
    large_sessions.write_sessions(project, sizes["tasks"], passages)
    service_traffic.write_traffic(project, sizes["tasks"])
    temp_project.refresh_statistics(project)


def _maintain_tables() -> None:
    """Run the maintenance that a project has had after some time."""
    temp_project.maintain_indexes()
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")


@contextmanager
def create_people(project: Project, *, keep: bool) -> Iterator[dict[str, Client]]:
    """Create an owner of the project, an owner of the installation, and keys.

    Yield a signed-in client for each person. Unless `keep` is true, delete the people
    and the keys at the end of the block, because deleting the project does not delete
    them.
    """
    owner = service_traffic.create_person(project)
    superuser = service_traffic.create_person(project, is_superuser=True)
    keys = service_traffic.create_keys(project)
    try:
        yield {OWNER: _signed_in_client(owner), SUPERUSER: _signed_in_client(superuser)}
    finally:
        if not keep:
            User.objects.filter(pk__in=[owner.pk, superuser.pk]).delete()
            ApiKey.objects.filter(pk__in=[key.pk for key in keys]).delete()


def _signed_in_client(account: User) -> Client:
    host = next(name for name in settings.ALLOWED_HOSTS if not name.startswith("."))
    client = Client(SERVER_NAME="localhost" if host == "*" else host)
    client.force_login(account, "django.contrib.auth.backends.ModelBackend")
    return client


def page_subjects(project: Project, passages: Passages) -> PageSubjects:
    models: list[type[Model]] = [*admin.site._registry, *CONSOLE_MODELS]
    rows = {model: _newest(model, project) for model in models}
    duplicates = Memory.objects.filter(project=project, is_duplicate=True)
    revision = Playbook.objects.get(project=project).revision
    return PageSubjects(
        {model: row for model, row in rows.items() if row},
        duplicate=duplicates.order_by("-pk").first(),
        word=" ".join(passages.queries[0].split()[:4]),
        revision=revision // 2,
    )


def _newest(model: type[Model], project: Project) -> Model | None:
    """Return the newest row of the model in the project.

    If the model has no project, return the newest of all its rows.
    """
    if model in CONSOLE_MODELS:
        own_rows = model._base_manager.filter(project_id=project.pk)
        return own_rows.order_by("-pk").first()
    registered = admin.site._registry[model]
    owner = Caller(name=OWNER, roles={project.pk: Role.OWNER})
    if isinstance(registered, RowsAdmin):
        own: Model | None = registered.visible_to(owner).order_by("-pk").first()
        if own:
            return own
    return model._base_manager.order_by("-pk").first()


def measure_page(
    page: PageAddress, browsers: Mapping[str, Client], rounds: int
) -> dict[str, Any] | None:
    reader = reader_of(page, browsers)
    if reader is None:
        return None
    answers = [request_page(browsers[reader], page) for _ in range(rounds)]
    spent = [answer.ms for answer in answers]
    return {
        "page": page.name,
        "reader": reader,
        "queries": max(answer.queries for answer in answers),
        "median_ms": round(statistics.median(spent), 1),
        "worst_ms": round(max(spent), 1),
        "python_ms": round(
            statistics.median(answer.python_ms for answer in answers), 1
        ),
        "is_slow": statistics.median(spent) >= MAX_MS,
    }


def reader_of(page: PageAddress, browsers: Mapping[str, Client]) -> str | None:
    """Return the person who can open a page: the owner, or else the superuser.

    Return None if nobody can open the page, such as the form for a new audit row. The
    function finds out with a request, which also warms up the page.
    """
    status = OK
    for name, browser in browsers.items():
        status = browser.get(page.url).status_code
        if status == OK:
            return name
    if status != FORBIDDEN:
        raise CommandError(f"{page.url} answered {status}.")
    return None


@dataclass(frozen=True)
class TimedAnswer:
    """The time and the number of queries of one request.

    `ms` is the whole time. `python_ms` is the time of this process alone.
    """

    ms: float
    python_ms: float
    queries: int


def request_page(browser: Client, page: PageAddress) -> TimedAnswer:
    queries = 0

    def count(execute: Any, *args: Any) -> Any:
        nonlocal queries
        queries += 1
        return execute(*args)

    started, worked = time.perf_counter(), time.process_time()
    with connection.execute_wrapper(count):
        browser.get(page.url)
    spent, used = time.perf_counter() - started, time.process_time() - worked
    return TimedAnswer(spent * 1000, used * 1000, queries)


def table(result: Mapping[str, Any]) -> Iterator[list[str]]:
    yield ["page", "as", "queries", "median ms", "worst ms", "Python ms", ""]
    for row in sorted(result["rows"], key=lambda row: -row["median_ms"]):
        yield [
            row["page"],
            row["reader"],
            str(row["queries"]),
            *(f"{row[name]:.0f}" for name in ("median_ms", "worst_ms", "python_ms")),
            "slow" if row["is_slow"] else "",
        ]


def remarks(result: Mapping[str, Any]) -> Iterator[str]:
    rows: Sequence[Mapping[str, Any]] = result["rows"]
    slow = sum(row["is_slow"] for row in rows)
    sizes = ", ".join(
        f"{result[name]:,} {name}" for name in ("memories", "entries", "proposals")
    )
    yield f"{len(rows)} pages with {sizes}: {slow} take {MAX_MS} ms or more"
    if result["without_rows"]:
        yield f"Only their lists, without a row: {', '.join(result['without_rows'])}"
