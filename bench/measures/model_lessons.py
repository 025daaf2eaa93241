"""Read recorded sessions in order with a language model, and show the rules that come of it.

With `--answers DIR`, the model is whoever writes the answers: for each question, the file
HASH.txt holds the prompt, and the run waits for HASH.json with the answer. The next prompt
depends on the answers before it, so that a run with the same answers repeats itself. Without
it, the configured endpoint is asked.
"""

from __future__ import annotations

import gzip
import io
import json
import time
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from ace.lessons import question as questions
from ace.lessons import reflections
from ace.lessons.question import Question
from ace.models import ModelReflection
from bench.datasets.recorded_sessions import FOLDER, session_files
from bench.fixtures import temp_project
from bench.measures.session_fixes import AGENT, SETTINGS, issue_key
from bench.options import BenchmarkOptions
from bench.report.progress_bar import ProgressBar
from common.caller import Caller
from conversations.messages.receive_transcript import TranscriptPart, receive
from conversations.sessions.lifecycle import SessionDraft, bootstrap
from inference.language import client, schemas
from playbook.models import LessonCandidate, PlaybookDelta, PlaybookEntry
from projects import model_access
from projects.models import Project

HELP = "The rules that a language model draws from recorded sessions, once a session."
SESSIONS = 40
LOOK_SECONDS = 1.0
HOLDER = "benchmark"


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--answers", type=Path, help="folder of prompts and of their answers"
    )
    parser.add_argument("--first", type=int, default=0, help="first session to read")
    parser.add_argument(
        "--sessions", type=int, default=0, help="how many sessions are read"
    )


def run(options: BenchmarkOptions) -> dict[str, Any]:
    count = options.extra["sessions"]
    if not count:
        return {"read": 0}
    first = options.extra["first"]
    files = session_files(options.data)[first : first + count]
    if not files:
        raise CommandError(f"{options.data / FOLDER} holds no transcripts.")
    with temp_project.create_project(
        "lessons", keep=options.keep, settings=SETTINGS
    ) as project:
        caller = issue_key(project)
        for path in ProgressBar("sessions", len(files)).over(files):
            _store(project, path, caller)
            for row in ModelReflection.objects.waiting().filter(project=project):
                _reflect(row, options.extra["answers"])
        return _count(project)


def _store(project: Project, path: Path, caller: Caller) -> None:
    """Send a session as the hooks do, end it, and learn from it."""
    draft = SessionDraft(key=path.name.partition(".")[0], agent_id=AGENT)
    session, _ = bootstrap(project, draft, caller)
    raw = path.read_bytes()
    raw = gzip.decompress(raw) if path.suffix == ".gz" else raw
    part = TranscriptPart("claude-code", io.BytesIO(raw), is_final=True)
    receive(project, session, part, caller)
    temp_project.run_jobs(project)


def _reflect(row: ModelReflection, folder: Path | None) -> None:
    while question := questions.build(row):
        if not reflections.lease(row, HOLDER):
            raise CommandError(f"The reflection {row.pk} cannot be leased.")
        value, model = _wait_for(question, folder) if folder else _ask(row, question)
        reflections.answer(row, question.part.number, value, model=model, holder=HOLDER)


def _wait_for(question: Question, folder: Path) -> tuple[dict[str, Any], str]:
    """Write the prompt and wait for the answer of whoever reads the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    answer = folder / f"{question.hash}.json"
    if not answer.exists():
        schema = json.dumps(schemas.strict_schema(question.shape), indent=1)
        text = f"{question.prompt.text}\n{question.text}\n\nJSON Schema:\n{schema}\n"
        (folder / f"{question.hash}.txt").write_text(text, encoding="utf-8")
    while not answer.exists():
        time.sleep(LOOK_SECONDS)
    return json.loads(answer.read_text(encoding="utf-8")), "reader"


def _ask(row: ModelReflection, question: Question) -> tuple[dict[str, Any], str]:
    if not model_access.is_enabled(row.project):
        raise CommandError("Name --answers, or set LANGUAGE_PROVIDER and its settings.")
    asked = client.Question(
        questions.PURPOSE,
        question.prompt.version,
        question.prompt.text,
        question.text,
        questions.MAX_TOKENS,
    )
    account = model_access.account_for(row.project, row.pk)
    found = client.ask(asked, question.shape, account)
    return found.value.model_dump(), found.model


def _count(project: Project) -> dict[str, Any]:
    told = [
        lesson
        for row in ModelReflection.objects.filter(project=project)
        for result in row.results
        for lesson in result["lessons"]
    ]
    deltas = PlaybookDelta.objects.filter(project=project)
    return {
        "read": ModelReflection.objects.filter(project=project, state="done").count(),
        "operations": dict(Counter(each["operation"] for each in told)),
        "statuses": dict(Counter(each["status"] for each in told)),
        "rules": list(_rules(project)),
        "waiting": [
            {"content": each.content, "reason": each.review_note, "gates": each.gates}
            for each in deltas.filter(status="pending").order_by("pk")
        ],
        "candidates": [
            {"content": each.content, "sessions": each.sessions}
            for each in LessonCandidate.objects.filter(project=project).order_by("pk")
        ],
        "rejected": [
            {"content": each.content, "reason": each.review_note}
            for each in deltas.filter(status="rejected").order_by("pk")
        ],
    }


def _rules(project: Project) -> Iterator[dict[str, Any]]:
    """Yield the live rules with their evidence, for a judge."""
    for entry in PlaybookEntry.objects.current().filter(project=project).order_by("pk"):
        delta = entry.deltas.filter(operation="add").order_by("pk").first()
        yield {
            "label": entry.label,
            "content": entry.content,
            "producer": delta.producer if delta else "",
            "helpful": entry.helpful,
            "harmful": entry.harmful,
            "quotes": [quote["quote"] for quote in delta.evidence] if delta else [],
        }


def table(result: Mapping[str, Any]) -> list[list[str]]:
    if not result["read"]:
        return [["sessions read by a model", "0 (--sessions N)"]]
    return [
        ["sessions read", str(result["read"])],
        *([name, str(n)] for name, n in result["operations"].items()),
        *([name, str(n)] for name, n in result["statuses"].items()),
        ["live rules", str(len(result["rules"]))],
        ["wishes that are counted", str(len(result["candidates"]))],
    ]


def remarks(result: Mapping[str, Any]) -> Iterator[str]:
    for rule in result.get("rules", ()):
        yield f"[{rule['label']}] {rule['content']} ({rule['producer']})"
    for each in result.get("waiting", ()):
        yield f"waits: {each['content']} ({each['reason']})"
