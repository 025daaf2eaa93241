from __future__ import annotations

import json
import os
import statistics
import sys
import time
import uuid
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
from django.core.management.base import BaseCommand, CommandError

from access import idempotency
from ace import feedback_source, recorded_tasks, serializers
from ace import run as runs
from common import errors
from common.api import parsing
from common.api.serializers import validate
from common.caller import SYSTEM
from memories import scopes
from playbook.models import PlaybookEntry
from projects import lifecycle
from projects.models import Project

Send = Callable[[dict[str, Any], str], dict[str, Any]]
WIDTH = 30  # of the progress bar
WAITS = (0.5, 1, 2, 4, 8, 15, 30)  # seconds between tries over HTTP


class Command(BaseCommand):
    help = "Send recorded tasks through complete-task and print a summary."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help="JSON lines, a task each")
        parser.add_argument(
            "--project", required=True, help="its name; created if missing"
        )
        parser.add_argument("--agent", default="replay", help="agent_id of the tasks")
        parser.add_argument("--limit", type=int, help="send only the first tasks")
        parser.add_argument(
            "--url", help="use a running service instead of this process"
        )
        parser.add_argument("--key", help="API key for --url; default: $MEMORY_API_KEY")

    def handle(self, *args: Any, **options: Any) -> None:
        rows = list(self.rows(options["file"]))[: options["limit"]]
        send = self.over_http(options) if options["url"] else self.in_process(options)
        summary = ReplaySummary()
        for number, row in enumerate(rows, start=1):
            request = recorded_tasks.to_request(row, agent_id=options["agent"])
            started = time.perf_counter()
            try:
                answer = send(request, recorded_tasks.idempotency_key(row, number))
            except ReplayRefused as refusal:
                summary.refusals.append(f"line {number}: {refusal}")
            else:
                summary.add(answer, time.perf_counter() - started)
            self.progress(number, len(rows))
        self.stderr.write("")
        self.stdout.write(summary.text(len(rows)))
        if not options["url"]:
            entries = PlaybookEntry.objects.filter(project__name=options["project"])
            self.stdout.write(f"entries now           {entries.current().count()}")
        if summary.refusals:
            raise CommandError(f"{len(summary.refusals)} of {len(rows)} were refused.")

    def rows(self, file: Path) -> Iterator[dict[str, Any]]:
        with file.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, start=1):
                if not line.strip():
                    continue
                try:
                    yield json.loads(line)
                except ValueError as error:
                    raise CommandError(f"{file}, line {number}: {error}") from error

    def progress(self, number: int, total: int) -> None:
        if sys.stderr.isatty():
            full = WIDTH * number // total
            bar = "#" * full + "." * (WIDTH - full)
            self.stderr.write(f"\r[{bar}] {number}/{total}", ending="")

    def in_process(self, options: dict[str, Any]) -> Send:
        project = Project.objects.live().filter(name=options["project"]).first()
        project = project or lifecycle.create({"name": options["project"]}, SYSTEM)

        def send(request: dict[str, Any], key: str) -> dict[str, Any]:
            identity = idempotency.identify_request(
                SYSTEM,
                route="POST complete-task",
                path="complete-task",
                project_id=project.pk,
                key=key,
                body=request,
            )
            body = request | {"project": project.name}
            try:
                storable = parsing.make_storable(body).value
                data = validate(serializers.CompleteTask, storable)
                task = feedback_source.accept(data, project, SYSTEM)
                return runs.complete(
                    project,
                    task,
                    SYSTEM,
                    scope=scopes.resolve_for_task(data.get("scope"), project, SYSTEM),
                    identity=identity,
                ).ace_result
            except errors.Refusal as refusal:
                details = json.dumps(refusal.errors)
                raise ReplayRefused(
                    f"{refusal.status} {refusal.detail} {details}"
                ) from refusal

        return send

    def over_http(self, options: dict[str, Any]) -> Send:
        key = options["key"] or os.environ.get("MEMORY_API_KEY")
        if not key:
            raise CommandError("--url needs --key, or MEMORY_API_KEY.")
        client = httpx2.Client(
            base_url=options["url"].rstrip("/") + "/api/v1",
            headers={"Authorization": f"Bearer {key}"},
            timeout=60,
        )
        response = client.post("/projects", json={"name": options["project"]})
        if response.status_code not in (201, 403, 409):
            raise CommandError(
                f"the project: {response.status_code} {response.text[:500]}"
            )

        def send(request: dict[str, Any], key: str) -> dict[str, Any]:
            body = request | {"project_id": options["project"]}
            answer = self.post_with_retries(
                lambda: client.post(
                    "/complete-task", json=body, headers={"Idempotency-Key": key}
                )
            )
            if answer.status_code != 200:
                raise ReplayRefused(f"{answer.status_code} {answer.text[:500]}")
            result: dict[str, Any] = answer.json()
            return result

        return send

    def post_with_retries(self, post: Callable[[], httpx2.Response]) -> httpx2.Response:
        """Send the task; retry while the service is unavailable, busy or throttling.

        A retry is safe, because the request has an idempotency key.
        """
        for wait in WAITS:
            try:
                answer = post()
            except httpx2.TransportError:
                time.sleep(wait)
                continue
            if answer.status_code not in (409, 429, 502, 503):
                return answer
            time.sleep(float(answer.headers.get("Retry-After", wait)))
        return post()


class ReplayRefused(Exception):
    """The service did not accept a task."""


class ReplaySummary:
    """Totals of all the answers in a replay."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.memories: set[uuid.UUID] = set()
        self.types: Counter[str] = Counter()
        self.outcomes: Counter[str] = Counter()
        self.operations: Counter[str] = Counter()
        self.files = self.lessons = self.unfinished = 0
        self.refusals: list[str] = []

    def add(self, answer: dict[str, Any], seconds: float) -> None:
        self.seconds.append(seconds)
        self.memories.add(uuid.UUID(answer["memory_id"]))
        self.types[answer["memory_type"]] += 1
        self.outcomes[answer["outcome"]] += 1
        self.files += len(answer["files_linked"])
        self.lessons += len(answer.get("lessons", []))
        self.unfinished += answer["state"] != "done"
        for operation in answer["playbook_delta"]["operations"]:
            self.operations[f"{operation['operation']} {operation['status']}"] += 1

    def text(self, total: int) -> str:
        milliseconds = sorted(second * 1000 for second in self.seconds)
        lines = {
            "accepted": f"{len(self.seconds)} of {total}",
            "unfinished": self.unfinished,
            "memories": len(self.memories),
            "memories by type": _counts(self.types),
            "outcomes": _counts(self.outcomes),
            "files linked": self.files,
            "lessons": self.lessons,
            "deltas": _counts(self.operations),
            "p50 / p95 ms": f"{_percentile(milliseconds, 50):.0f} / {_percentile(milliseconds, 95):.0f}",
        }
        table = [f"{name:<21} {value}" for name, value in lines.items()]
        return "\n".join([*table, *(f"refused: {line}" for line in self.refusals)])


def _counts(counter: Counter[str]) -> str:
    return ", ".join(f"{name} {n}" for name, n in counter.most_common()) or "none"


def _percentile(values: list[float], percent: int) -> float:
    if len(values) < 2:
        return values[0] if values else 0.0
    return statistics.quantiles(values, n=100, method="inclusive")[percent - 1]
