"""The metrics that Prometheus reads: counters of all processes, and the health checks."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import datetime

from django.http import HttpRequest, HttpResponseBase
from prometheus_client import REGISTRY, CollectorRegistry, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from memory_project import health
from memory_project.health import HealthReport

METHODS = {"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"}
REQUESTS = Histogram(
    "memory_request_seconds",
    "Answered requests, by the time they took.",
    ["method", "route", "status"],
)


def count_request(
    request: HttpRequest, response: HttpResponseBase, seconds: float
) -> None:
    """Count a request by its route, so that a client cannot create new series."""
    match = request.resolver_match
    method = request.method if request.method in METHODS else "other"
    labels = (method, match.route if match else "", response.status_code)
    REQUESTS.labels(*labels).observe(seconds)


def render() -> bytes:
    """Render the metrics of all processes that share the metrics folder."""
    counters, state = REGISTRY, CollectorRegistry()
    if "PROMETHEUS_MULTIPROC_DIR" in os.environ:
        counters = CollectorRegistry()
        MultiProcessCollector(counters)  # type: ignore[no-untyped-call]  # as shipped
    state.register(_HealthCollector(health.report()))
    return generate_latest(counters) + generate_latest(state)


class _HealthCollector(Collector):
    """Convert the report of `/readyz` to numbers; leave out a check that could not run."""

    def __init__(self, report: HealthReport) -> None:
        self.report = report

    def collect(self) -> Iterator[Metric]:
        checks = self.report.checks
        yield GaugeMetricFamily(
            "memory_ready", "Whether /readyz answers 200.", self.report.is_ready
        )
        each = GaugeMetricFamily(
            "memory_check_ok", "Whether a check of /readyz passes.", labels=["check"]
        )
        for name, check in checks.items():
            each.add_metric([name], check.ok)
        yield each
        if oldest := checks.get("oldest_job"):
            yield GaugeMetricFamily(
                "memory_oldest_job_seconds",
                "For how long the oldest due job has waited.",
                oldest.more["seconds"],
            )
        if failed := checks.get("dead_letters"):
            yield GaugeMetricFamily(
                "memory_dead_letters",
                "Failed jobs that wait for a retry or discard.",
                failed.more["count"],
            )
        if (texts := checks.get("indexing")) and texts.more["missing"] is not None:
            yield GaugeMetricFamily(
                "memory_texts_without_vector",
                "Memories and entries that no search finds by meaning yet.",
                texts.more["missing"],
            )
        if last := checks.get("last_success"):
            stages = GaugeMetricFamily(
                "memory_last_success_timestamp_seconds",
                "When a part of the service last showed that it works.",
                labels=["stage"],
            )
            for stage, at in last.more.get("stages", {}).items():
                stages.add_metric([stage], datetime.fromisoformat(at).timestamp())
            yield stages
