"""Can this process serve, and does the work in the background go on?"""

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
from django.db import Error, connection, transaction
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone
from redis.backoff import NoBackoff
from redis.retry import Retry

from common import replicas
from inference import accounts, embedding, language
from inference.errors import InferenceError
from inference.models import ModelCall
from jobs.models import Heartbeat, Job

PATIENCE = 2.0  # seconds for all checks of the database
STATEMENT_SECONDS = 1.5  # less, so that PostgreSQL itself says what took too long
PING_SECONDS = 0.5  # asked twice at most
OLDEST_BEAT = 60.0  # seconds; the worker shows life every ten
OLDEST_WAITING = 300.0  # seconds a due job may wait

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Check:
    ok: bool
    detail: str
    more: dict[str, Any] = field(default_factory=dict)

    @property
    def answer(self) -> dict[str, Any]:
        return {"ok": self.ok, "detail": self.detail, **self.more}


@dataclass(frozen=True)
class Report:
    checks: dict[str, Check]

    @property
    def is_ready(self) -> bool:
        return all(check.ok for check in self.checks.values())

    @property
    def reason(self) -> str:
        """What is wrong, in words; empty when nothing is."""
        bad = [f"{n}: {c.detail}" for n, c in self.checks.items() if not c.ok]
        return "; ".join(bad)


def report() -> Report:
    return Report({"broker": broker(), **_patiently(of_database)})


def broker() -> Check:
    try:
        _broker(settings.REDIS_URL).ping()
    except redis.RedisError as error:
        return Check(False, f"Redis does not answer: {type(error).__name__}")
    return Check(True, "Redis answers")


@functools.lru_cache(maxsize=4)
def _broker(url: str) -> redis.Redis:
    return redis.Redis.from_url(
        url,
        socket_timeout=PING_SECONDS,
        socket_connect_timeout=PING_SECONDS,
        # A connection from before a restart of Redis fails once.
        retry=Retry(NoBackoff(), 1),
    )


@transaction.atomic
def of_database() -> dict[str, Check]:
    """Every check that asks the database, in the order in which one explains another."""
    began = time.monotonic()
    with connection.cursor() as cursor:
        # Local to the transaction: a pooled connection must not keep it.
        milliseconds = int(STATEMENT_SECONDS * 1000)
        cursor.execute(f"SET LOCAL statement_timeout = {milliseconds}")
    took = (time.monotonic() - began) * 1000
    checks = {
        "database": Check(True, f"PostgreSQL answers in {took:.1f} ms"),
        "migrations": migrations(),
    }
    if not checks["migrations"].ok:
        return checks
    beats = dict(Heartbeat.objects.values_list("name", "at"))
    checks |= {
        "worker": worker(beats.get(Heartbeat.WORKER)),
        "oldest_job": oldest_job(),
        "dead_letters": dead_letters(),
        "last_success": last_success(beats),
        "embeddings": embeddings(),
    }
    if replicas.aliases():
        checks["replicas"] = replica_reads()
    if settings.LANGUAGE_PROVIDER != language.NONE:
        checks["language_model"] = language_model()
    return checks


class Migrations:
    """A process whose migrations were all applied once need not look again."""

    are_applied = False


def migrations() -> Check:
    if not Migrations.are_applied:
        executor = MigrationExecutor(connection)
        plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
        if plan:
            return Check(False, f"{len(plan)} are not applied; run manage.py migrate")
        Migrations.are_applied = True
    return Check(True, "all are applied")


def worker(beat: datetime | None) -> Check:
    if beat is None:
        return Check(False, "no worker has shown life yet; start one with beat")
    age = seconds_since(beat)
    if age > OLDEST_BEAT:
        return Check(False, f"no worker has shown life for {age:.0f} s; start one")
    return Check(True, f"a worker showed life {age:.0f} s ago")


def oldest_job() -> Check:
    since = Job.objects.due().order_by("run_after").values_list("run_after", flat=True)
    oldest = since.first()
    if oldest is None:
        return Check(True, "no job waits", {"seconds": 0})
    age = seconds_since(oldest)
    more = {"seconds": round(age)}
    detail = f"the oldest due job has waited for {age:.0f} s"
    if age > OLDEST_WAITING:
        why = f"{detail}; add workers, or look at GET /api/v1/jobs"
        return Check(False, why, more)
    return Check(True, detail, more)


def dead_letters() -> Check:
    count = Job.objects.filter(state=Job.State.FAILED).count()
    detail = f"{count} failed jobs wait for a retry or discard"
    return Check(True, detail, {"count": count})


def last_success(beats: dict[str, datetime]) -> Check:
    ages = {name: round(seconds_since(at)) for name, at in sorted(beats.items())}
    detail = ", ".join(f"{name} {age} s ago" for name, age in ages.items())
    stages = {name: at.isoformat() for name, at in sorted(beats.items())}
    return Check(True, detail or "nothing has run yet", {"stages": stages})


def embeddings() -> Check:
    """Never a reason not to serve: searches go on with the model that they use."""
    try:
        used, wanted = embedding.active().name, embedding.configured().name
    except InferenceError as error:
        return Check(True, f"the settings name no embedding model: {error}")
    if used == wanted:
        return Check(True, f"searches use {used}")
    return Check(
        True,
        f"searches use {used}, configured is {wanted}: `manage.py reembed` changes it, "
        "and its job tells how far it is",
    )


def replica_reads() -> Check:
    """Never a reason not to serve: the primary answers what a replica does not."""
    met = replicas.met()
    return Check(True, "; ".join(f"{name} {told}" for name, told in met.items()))


def language_model() -> Check:
    """Never a reason not to serve: without the model the rules learn."""
    used = accounts.used_today()
    newest = ModelCall.objects.first()
    told = "nothing was asked yet"
    if newest:
        age = seconds_since(newest.at)
        told = (
            f"{newest.model}: {newest.outcome} {age:.0f} s ago {newest.error}".strip()
        )
    more = {name: moment for name, moment in _last_calls().items() if moment}
    return Check(True, f"{told}; {used.tokens:,} tokens today", more)


def _last_calls() -> dict[str, str | None]:
    """When a call of the last day was answered, and when one was not."""
    recent = ModelCall.objects.since(timezone.now() - timedelta(days=1))
    answered = recent.filter(outcome=ModelCall.Outcome.ANSWERED).first()
    failed = recent.exclude(outcome=ModelCall.Outcome.ANSWERED).first()
    return {
        "answered_at": answered.at.isoformat() if answered else None,
        "failed_at": failed.at.isoformat() if failed else None,
    }


def seconds_since(at: datetime) -> float:
    return max(0.0, (timezone.now() - at).total_seconds())


# A frozen PostgreSQL answers neither connections nor statement timeouts, so the
# looking is done by a thread that a request does not have to wait for.
_watchers = ThreadPoolExecutor(max_workers=1, thread_name_prefix="readyz")
_looking: Future[dict[str, Check]] | None = None


def _patiently(look: Callable[[], dict[str, Check]]) -> dict[str, Check]:
    global _looking
    if _looking is None or _looking.done():
        _looking = _watchers.submit(_closing(look))
    try:
        return _looking.result(timeout=PATIENCE)
    except TimeoutError:
        return {"database": Check(False, f"no answer in {PATIENCE:.0f} s")}
    except Error as error:
        log.warning("readyz_database", error=str(error))
        return {"database": Check(False, f"PostgreSQL: {type(error).__name__}")}


def _closing(look: Callable[[], dict[str, Check]]) -> Callable[[], dict[str, Check]]:
    def looked() -> dict[str, Check]:
        try:
            return look()
        finally:
            connection.close()

    return looked
