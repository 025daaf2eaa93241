"""Measure the duplicate scan of a whole project.

Also measure the scan when its process is killed.
"""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import time
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
from django.core.management.base import CommandError
from django.db import connection
from django.utils import timezone

from benchmarks.fixtures import population, temp_project
from benchmarks.fixtures.population import Passages
from benchmarks.options import BenchmarkOptions
from benchmarks.product import product_processes
from benchmarks.report.progress_bar import ProgressBar
from common.caller import SYSTEM
from common.text import plain_text
from inference.embedding import active_model
from jobs.models import Job
from memories.duplicates import scan as duplicates_scan
from memories.models import DuplicateFinding, Memory, MemoryVector
from memories.scopes import Scope
from projects.models import Project

HELP = "Time and memory of a deduplication, and what is left when it is killed."
MEMORIES, KILLS = 100_000, 2
# One memory in this many is written a second time. The copy has either one more full
# stop and the same vector, or more words and a slightly different vector.
COPY_EVERY = 50
COPY_SUFFIXES = (" .", "\n\nOnce more.")
COPY_NOISE = 0.008  # noise of each coordinate; the cosine is then about 0.99
BATCH = 500  # rows written in one transaction
LOOK_SECONDS = 0.05


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--memories", type=int, default=MEMORIES)
    parser.add_argument(
        "--kill", type=int, default=KILLS, help="how often the second run is killed"
    )


def run(options: BenchmarkOptions) -> dict[str, Any]:
    """Run two scans of the same project.

    The first is a dry run. The second marks duplicates, and its process is killed.
    """
    count, kills = options.extra["memories"], options.extra["kill"]
    passages = population.load_passages(options.data)
    with temp_project.create_project("deduplication", keep=options.keep) as project:
        copies = _fill(project, count, passages)
        whole = _run_scan(project, apply=False, kills=0)
        killed = _run_scan(project, apply=True, kills=kills)
    return {
        "memories": count,
        "copied": copies,
        "whole": whole.figures,
        "killed": killed.figures,
        "same": whole.pairs == killed.pairs,
    }


def _fill(project: Project, count: int, passages: Passages) -> int:
    """Write `count` memories with vectors. Return how many of the memories are copies."""
    chance = np.random.default_rng(count)
    bar = ProgressBar("memories", count)
    copied = 0
    for start in range(0, count, BATCH):
        size = min(BATCH, count - start)
        copies = size // COPY_EVERY
        texts, vectors = _mix_passages(passages, start, size - copies, chance)
        _write(project, texts, vectors)
        noise = chance.normal(scale=COPY_NOISE, size=(copies, vectors.shape[1]))
        noise[::2] = 0
        again = [
            f"{text}{COPY_SUFFIXES[n % 2]}" for n, text in enumerate(texts[:copies])
        ]
        _write(project, again, vectors[:copies] + noise)
        copied += copies
        bar.show(start + size)
    with connection.cursor() as cursor:
        for model in (Memory, MemoryVector):
            cursor.execute(f"ANALYZE {model._meta.db_table}")
    temp_project.maintain_indexes()
    return copied


def _mix_passages(
    passages: Passages, start: int, count: int, chance: Any
) -> tuple[list[str], Any]:
    """Return texts that are each made from three real passages, and the texts' vectors."""
    indexes = chance.integers(len(passages.texts), size=(count, len(population.SHARES)))
    texts = [
        population.passage_text(passages, row, number)
        for number, row in enumerate(indexes, start)
    ]
    return texts, population.mix_vectors(passages, indexes, chance)


def _write(project: Project, texts: Sequence[str], vectors: Any) -> None:
    """Write rows without lexemes.

    Making lexemes would take most of the time, and no scan uses them.
    """
    memories = Memory.objects.bulk_create(
        Memory(
            project=project,
            organization_id=project.organization_id,
            agent_id="benchmark",
            memory_type="learning",
            content=content,
            similarity_hash=plain_text.similarity_hash(content),
            content_tsv="",
            **Scope("workspace", str(project.pk)).columns,
        )
        for content in texts
    )
    MemoryVector.objects.bulk_create(
        MemoryVector(
            memory=memory,
            project_id=project.pk,
            model=active_model.get().name,
            embedding=(vector / np.linalg.norm(vector)).tolist(),
        )
        for memory, vector in zip(memories, vectors, strict=True)
    )


@dataclass
class ScanRun:
    """One duplicate scan, which runs in processes of its own."""

    job: Job
    seconds: float = 0.0
    # Share of the work that was done at each kill.
    kills: list[float] = field(default_factory=list)
    megabytes: list[float] = field(default_factory=list)

    @property
    def pairs(self) -> list[tuple[Any, ...]]:
        """Return a row for each pair that the scan found.

        A row is (memory, original, similarity, reason why the two were not merged).
        """
        findings = DuplicateFinding.objects.filter(job_id=self.job.pk)
        return sorted(
            findings.values_list("memory", "original", "similarity", "why_not_merged")
        )

    @property
    def figures(self) -> dict[str, Any]:
        memory = self.megabytes
        return {
            "seconds": round(self.seconds, 1),
            "killed_at": [round(share, 2) for share in self.kills],
            "attempts": self.job.attempts,
            **self.job.result,
            "megabytes": {
                "start": round(memory[len(memory) // 20]),
                "middle": round(memory[len(memory) // 2]),
                "end": round(memory[-1]),
                "most": round(max(memory)),
            },
        }


def _run_scan(project: Project, *, apply: bool, kills: int) -> ScanRun:
    scan = ScanRun(duplicates_scan.start(project, SYSTEM, threshold=None, apply=apply))
    stops = [(number + 1) / (kills + 1) for number in range(kills)]
    bar = ProgressBar("marked" if apply else "compared", 100)
    started = time.perf_counter()
    for stop in [*stops, None]:
        _attempt(scan, stop, bar)
    scan.seconds = time.perf_counter() - started
    if scan.job.state != Job.State.DONE:
        raise CommandError(f"The job is {scan.job.state}: {scan.job.error}")
    return scan


def _attempt(scan: ScanRun, stop: float | None, bar: ProgressBar) -> None:
    """Run the job in a process until the job ends.

    If `stop` is given, kill the process with SIGKILL when this share of the work is
    done.
    """
    child = product_processes.start_program(
        ["-m", "benchmarks.product.one_job", str(scan.job.pk)]
    )
    while child.poll() is None:
        time.sleep(LOOK_SECONDS)
        scan.job.refresh_from_db()
        share = scan.job.done / (scan.job.total or 1)
        if share and scan.job.state == Job.State.RUNNING:
            bar.show(min(99, int(share * 100)))
            with suppress(OSError):  # the process may just have ended
                scan.megabytes.append(_resident_megabytes(child.pid))
        if stop and share >= stop:
            _kill(child)
            scan.kills.append(share)
    scan.job.refresh_from_db()
    if scan.job.state == Job.State.RUNNING:
        # The process that held the lease is dead. A worker would wait until the lease
        # ends, so end the lease now.
        scan.job.lease_until = timezone.now() - timedelta(seconds=1)
        scan.job.save(update_fields=["lease_until"])


def _resident_megabytes(pid: int) -> float:
    """Return how many megabytes of memory a process holds."""
    pages = Path(f"/proc/{pid}/statm").read_text().split()[1]
    return int(pages) * resource.getpagesize() / 1e6


def _kill(child: subprocess.Popen[bytes]) -> None:
    os.kill(child.pid, signal.SIGKILL)
    child.wait()


def table(result: Mapping[str, Any]) -> Iterator[list[str]]:
    heads = ["seconds", "duplicates", "possible", "MB start", "middle", "end", "most"]
    yield ["run", *heads]
    for name in ("whole", "killed"):
        row = result[name]
        yield [
            "dry run, whole"
            if name == "whole"
            else f"killed {len(row['killed_at'])} times",
            f"{row['seconds']:.1f}",
            str(row["duplicates"]),
            str(row["possible_duplicates"]),
            *map(str, row["megabytes"].values()),
        ]


def remarks(result: Mapping[str, Any]) -> Iterator[str]:
    yield (
        f"{result['memories']:,} memories, {result['copied']:,} of them copies; "
        f"killed at {result['killed']['killed_at']} of the work"
    )
    yield f"the same pairs: {'yes' if result['same'] else 'NO'}"
