"""Check whether this process can serve and whether background work goes on."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import redis
import structlog
from django.conf import settings
from django.db import Error, OperationalError, connection, transaction
from django.utils import timezone
from redis.backoff import NoBackoff
from redis.retry import Retry

from common import schema_version
from inference.embedding import active_model, embedder, missing_vectors
from inference.errors import InferenceError
from inference.language import budget, language_model
from inference.models import ModelCall
from jobs.models import Heartbeat, Job

TIMEOUT_SECONDS = 2.0  # seconds for all database checks together
# This is less than TIMEOUT_SECONDS, so that PostgreSQL names the slow statement.
STATEMENT_SECONDS = 1.5
COUNT_SECONDS = 0.5  # to count the texts without a vector
PING_SECONDS = 0.5  # for each attempt; there are at most two attempts
MAX_HEARTBEAT_AGE = 60.0  # seconds; a worker writes a heartbeat every ten
MAX_JOB_WAIT = 300.0  # seconds that a due job may wait

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class HealthCheck:
    ok: bool
    detail: str
    more: dict[str, Any] = field(default_factory=dict)

    @property
    def answer(self) -> dict[str, Any]:
        return {"ok": self.ok, "detail": self.detail, **self.more}


@dataclass(frozen=True)
class HealthReport:
    checks: dict[str, HealthCheck]

    @property
    def is_ready(self) -> bool:
        return all(check.ok for check in self.checks.values())

    @property
    def reason(self) -> str:
        """The fault in words; empty if there is no fault."""
        bad = [f"{n}: {c.detail}" for n, c in self.checks.items() if not c.ok]
        return "; ".join(bad)


def report() -> HealthReport:
    return HealthReport({"broker": check_broker(), **_run_with_timeout(check_database)})


def check_broker() -> HealthCheck:
    try:
        _redis_client(settings.REDIS_URL).ping()
    except redis.RedisError as error:
        return HealthCheck(False, f"Redis does not answer: {type(error).__name__}")
    return HealthCheck(True, "Redis answers")


@functools.lru_cache(maxsize=4)
def _redis_client(url: str) -> redis.Redis:
    return redis.Redis.from_url(
        url,
        socket_timeout=PING_SECONDS,
        socket_connect_timeout=PING_SECONDS,
        # A connection that is older than a restart of Redis fails once.
        retry=Retry(NoBackoff(), 1),
    )


@transaction.atomic
def check_database() -> dict[str, HealthCheck]:
    """Run every check of the database; a check that fails explains the checks after it."""
    began = time.monotonic()
    _limit_statements(STATEMENT_SECONDS)
    took = (time.monotonic() - began) * 1000
    checks = {
        "database": HealthCheck(True, f"PostgreSQL answers in {took:.1f} ms"),
        "migrations": check_migrations(),
    }
    if not checks["migrations"].ok:
        return checks
    beats = dict(Heartbeat.objects.values_list("name", "at"))
    checks |= {
        "worker": check_worker(beats.get(Heartbeat.WORKER)),
        "oldest_job": check_oldest_job(),
        "dead_letters": check_dead_letters(),
        "last_success": check_last_success(beats),
        "embeddings": check_embeddings(),
        "indexing": check_indexing(),
    }
    if settings.LANGUAGE_PROVIDER != language_model.NONE:
        checks["language_model"] = check_language_model()
    return checks


def _limit_statements(seconds: float) -> None:
    """Set a timeout for this transaction only, because a pooled connection must not keep it."""
    with connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL statement_timeout = {int(seconds * 1000)}")


class MigrationState:
    """Remembers that all migrations are applied, so that the process does not check again."""

    are_applied = False


def check_migrations() -> HealthCheck:
    if not MigrationState.are_applied:
        if unknown := schema_version.unknown_migrations(connection):
            return HealthCheck(False, schema_version.describe_newer(unknown))
        if pending := schema_version.count_pending():
            return HealthCheck(
                False, f"{pending} are not applied; run manage.py migrate"
            )
        MigrationState.are_applied = True
    return HealthCheck(True, "all are applied")


def check_worker(beat: datetime | None) -> HealthCheck:
    if beat is None:
        return HealthCheck(False, "no worker has shown life yet; start one with beat")
    age = seconds_since(beat)
    if age > MAX_HEARTBEAT_AGE:
        return HealthCheck(
            False, f"no worker has shown life for {age:.0f} s; start one"
        )
    return HealthCheck(True, f"a worker showed life {age:.0f} s ago")


def check_oldest_job() -> HealthCheck:
    """Say how far background work is behind; always pass, because requests are served.

    That no worker works at all is another check.
    """
    since = Job.objects.due().order_by("run_after").values_list("run_after", flat=True)
    oldest = since.first()
    if oldest is None:
        return HealthCheck(True, "no job waits", {"seconds": 0})
    age = seconds_since(oldest)
    more = {"seconds": round(age)}
    detail = f"the oldest due job has waited for {age:.0f} s"
    if age > MAX_JOB_WAIT:
        count = Job.objects.due().count()
        why = (
            f"a backlog: {count:,} jobs are due, and {detail}; add workers, or look at "
            "GET /api/v1/jobs"
        )
        return HealthCheck(True, why, more)
    return HealthCheck(True, detail, more)


def check_dead_letters() -> HealthCheck:
    count = Job.objects.filter(state=Job.State.FAILED).count()
    detail = f"{count} failed jobs wait for a retry or discard"
    return HealthCheck(True, detail, {"count": count})


def check_last_success(beats: dict[str, datetime]) -> HealthCheck:
    ages = {name: round(seconds_since(at)) for name, at in sorted(beats.items())}
    newest = min(ages, key=lambda name: ages[name], default="")
    detail = (
        f"{newest} {ages[newest]} s ago, the newest of {len(ages)}" if newest else ""
    )
    stages = {name: at.isoformat() for name, at in sorted(beats.items())}
    return HealthCheck(True, detail or "nothing has run yet", {"stages": stages})


def check_embeddings() -> HealthCheck:
    """Check the embedding model; always pass, because searches keep their present model."""
    try:
        used = active_model.get().name
        configured = embedder.from_settings().name
    except InferenceError as error:
        return HealthCheck(True, f"the settings name no embedding model: {error}")
    if used == configured:
        return HealthCheck(True, f"searches use {used}")
    return HealthCheck(
        True,
        f"searches use {used}, configured is {configured}: `manage.py reembed` changes it, "
        "and its job tells how far it is",
    )


def check_indexing() -> HealthCheck:
    """Count the texts without a vector; always pass, because words find them already."""
    sweep = Heartbeat.objects.filter(name=missing_vectors.SWEEP).first()
    if sweep and sweep.detail["seconds"] > COUNT_SECONDS:
        return _tell_swept(sweep)
    try:
        with transaction.atomic():
            _limit_statements(COUNT_SECONDS)
            missing = missing_vectors.count_missing()
    except OperationalError:
        return _tell_swept(sweep)
    except InferenceError as error:
        detail = f"the settings name no embedding model: {error}"
        return HealthCheck(True, detail, {"missing": None})
    finally:
        _limit_statements(STATEMENT_SECONDS)
    return HealthCheck(True, f"{missing} texts have no vector", {"missing": missing})


def _tell_swept(sweep: Heartbeat | None) -> HealthCheck:
    """Tell what the last sweep counted, if the rows are too many to count them here."""
    if sweep is None:
        detail = f"texts without a vector are not counted in {COUNT_SECONDS} s"
        return HealthCheck(True, detail, {"missing": None})
    missing, age = sweep.detail["missing"], seconds_since(sweep.at)
    detail = f"{missing} texts had no vector {age:.0f} s ago"
    return HealthCheck(True, detail, {"missing": missing})


def check_language_model() -> HealthCheck:
    """Check the language model; always pass, because without it the built-in rules learn."""
    used = budget.use_today()
    newest = ModelCall.objects.first()
    detail = "nothing was asked yet"
    if newest:
        age = seconds_since(newest.at)
        detail = (
            f"{newest.model}: {newest.outcome} {age:.0f} s ago {newest.error}".strip()
        )
    more = {name: moment for name, moment in _last_calls().items() if moment}
    return HealthCheck(True, f"{detail}; {used.tokens:,} tokens today", more)


def _last_calls() -> dict[str, str | None]:
    """Return the times of the last answered call and of the last failed call of the last day."""
    recent = ModelCall.objects.since(timezone.now() - timedelta(days=1))
    answered = recent.filter(outcome=ModelCall.Outcome.ANSWERED).first()
    failed = recent.exclude(outcome=ModelCall.Outcome.ANSWERED).first()
    return {
        "answered_at": answered.at.isoformat() if answered else None,
        "failed_at": failed.at.isoformat() if failed else None,
    }


def seconds_since(at: datetime) -> float:
    return max(0.0, (timezone.now() - at).total_seconds())


# A frozen PostgreSQL obeys neither connection nor statement timeouts, so a thread runs
# the checks, and a request can stop waiting for it.
_executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="readyz")
_pending_check: Future[dict[str, HealthCheck]] | None = None


def _run_with_timeout(
    check: Callable[[], dict[str, HealthCheck]],
) -> dict[str, HealthCheck]:
    global _pending_check
    if _pending_check is None or _pending_check.done():
        _pending_check = _executor.submit(_close_after(check))
    try:
        return _pending_check.result(timeout=TIMEOUT_SECONDS)
    except TimeoutError:
        return {"database": HealthCheck(False, f"no answer in {TIMEOUT_SECONDS:.0f} s")}
    except Error as error:
        log.warning("readyz_database", error=str(error))
        return {"database": HealthCheck(False, f"PostgreSQL: {type(error).__name__}")}


def _close_after(
    check: Callable[[], dict[str, HealthCheck]],
) -> Callable[[], dict[str, HealthCheck]]:
    def run() -> dict[str, HealthCheck]:
        try:
            return check()
        finally:
            connection.close()

    return run
