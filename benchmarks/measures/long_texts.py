"""Measure what becomes of long texts: which are hidden as duplicates, and which are found."""

from __future__ import annotations

import random
import re
import textwrap
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from typing import Any

from django.core.management.base import CommandError

from benchmarks.datasets import corpora
from benchmarks.fixtures import temp_project
from benchmarks.options import BenchmarkOptions
from benchmarks.report.progress_bar import ProgressBar
from common.caller import SYSTEM
from inference.embedding import active_model
from memories.maintenance import embedding_job
from memories.models import Memory, PossibleDuplicate
from memories.read import search
from memories.store import write
from memories.store.drafts import Draft
from projects.models import Project

HELP = "Duplicates among long texts, and recall of their later sentences by meaning."
COLLECTION = "til-jb"  # the collection from whose notes the long texts are made
SHORTEST, LONGEST = 1_600, 12_000  # characters: 400 to 3,000 tokens
SEED = 7
BATCH = 100  # memories written in one transaction
READ_TOKENS = 256  # what the bundled model reads of a text without chunks
HEADINGS = ("Overview", "Notes on this", "What to do", "Background", "How it works")
SETTINGS = {"dedup": {"enabled": True}}


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--pairs", type=int, default=500, help="with a common beginning"
    )
    parser.add_argument("--duplicates", type=int, default=200)
    parser.add_argument("--queries", type=int, default=200)


def run(options: BenchmarkOptions) -> dict[str, Any]:
    extra = options.extra
    rng = random.Random(SEED)
    notes = _read_notes(options)
    begun = [_common_beginning(notes, rng) for _ in range(extra["pairs"])]
    copies = [_retold(notes, rng) for _ in range(extra["duplicates"])]
    return {
        "beginnings": _measure_pairs("common beginnings", begun),
        "duplicates": _measure_pairs("true duplicates", copies),
        "recall": _measure_recall([first for first, _ in begun], extra["queries"], rng),
    }


def table(result: dict[str, Any]) -> Iterator[list[str]]:
    yield ["pairs", "number", "hidden", "shown as possible"]
    for name, title in (
        ("beginnings", "common beginning, other rest"),
        ("duplicates", "re-wrapped, re-ordered, headings renamed"),
    ):
        row = result[name]
        yield [title, *(str(row[key]) for key in ("pairs", "hidden", "possible"))]


def remarks(result: dict[str, Any]) -> Iterator[str]:
    row = result["recall"]
    yield (
        f"by meaning, a sentence from beyond token {READ_TOKENS} finds its text among "
        f"{row['texts']}: recall@10 {row['recall']:.3f} of {row['queries']} queries"
    )


def _read_notes(options: BenchmarkOptions) -> list[str]:
    folders = {
        folder.name: folder for folder in corpora.collection_folders(options.data)
    }
    if COLLECTION not in folders:
        raise CommandError(f"{options.data} holds no collection search/{COLLECTION}.")
    collection = corpora.load_collection(folders[COLLECTION])
    return [f"{each.title}\n\n{each.text}" for each in collection.documents]


def _long_text(notes: Sequence[str], rng: random.Random) -> str:
    length, text = rng.randint(SHORTEST, LONGEST), ""
    while len(text) < length:
        text += f"{rng.choice(notes)}\n\n"
    return text[:length]


def _common_beginning(notes: Sequence[str], rng: random.Random) -> tuple[str, str]:
    """Return two texts of which the second begins as the first does."""
    first = _long_text(notes, rng)
    cut = rng.randint(1_000, len(first) - 200)
    rest = _long_text(notes, rng)[: max(200, len(first) - cut)]
    return first, f"{first[:cut]}\n\n{rest}"


def _retold(notes: Sequence[str], rng: random.Random) -> tuple[str, str]:
    """Return a text, and the same with one of three changes: of its form, not of what it says."""
    text = _long_text(notes, rng)
    parts = [part for part in re.split(r"\n\s*\n", text) if part.strip()]
    change = rng.choice(["wrap", "order", "headings"])
    if change == "wrap":
        width = rng.choice([40, 60, 100])
        parts = [_wrap(part, width) for part in parts]
    elif change == "order":
        turn = rng.randrange(1, len(parts))
        parts = [*parts[turn:], *parts[:turn]]
    else:
        parts = [_rename_heading(part, rng) for part in parts]
    return text, "\n\n".join(parts)


def _wrap(part: str, width: int) -> str:
    return textwrap.fill(part, width, break_long_words=False, break_on_hyphens=False)


def _rename_heading(part: str, rng: random.Random) -> str:
    return re.sub(r"^(#{1,6}) .*", lambda m: f"{m[1]} {rng.choice(HEADINGS)}", part)


def _measure_pairs(name: str, pairs: Sequence[tuple[str, str]]) -> dict[str, int]:
    with temp_project.create_project(name, settings=SETTINGS) as project:
        firsts = _store(project, [first for first, _ in pairs], f"{name}, firsts")
        seconds = _store(project, [second for _, second in pairs], f"{name}, seconds")
        partner = dict(zip(seconds, firsts, strict=True))
        rows = Memory.objects.filter(pk__in=seconds, is_duplicate=True)
        hidden = dict(rows.values_list("pk", "duplicate_of"))
        possible = PossibleDuplicate.objects.filter(memory__in=seconds)
        return {
            "pairs": len(pairs),
            "hidden": sum(partner[pk] == original for pk, original in hidden.items()),
            "hidden_behind_another": sum(
                partner[pk] != original for pk, original in hidden.items()
            ),
            "possible": possible.values("memory").distinct().count(),
        }


def _store(project: Project, texts: Sequence[str], title: str) -> list[Any]:
    ids: list[Any] = []
    for start in range(0, len(texts), BATCH):
        drafts = [
            Draft(content=text, memory_type="learning", source="import")
            for text in texts[start : start + BATCH]
        ]
        receipts = write.commit(write.prepare(project, drafts, SYSTEM))
        ids += [receipt.memory.pk for receipt in receipts if receipt.memory]
    waiting = embedding_job.rows_to_embed(project.pk).count()
    temp_project.embed_waiting(project, ProgressBar(title, waiting).show)
    return ids


def _measure_recall(
    texts: Sequence[str], most: int, rng: random.Random
) -> dict[str, Any]:
    with temp_project.create_project("recall of sentences") as project:
        ids = _store(project, texts, "recall: vectors")
        temp_project.refresh_statistics(project)
        asked = found = 0
        for pk, text in rng.sample(list(zip(ids, texts, strict=True)), len(texts)):
            sentence = _later_sentence(text, rng)
            if not sentence or asked == most:
                continue
            asked += 1
            request = search.MemorySearch(sentence, mode="semantic", limit=10)
            hits = search.find(project, request, SYSTEM).hits
            found += any(hit.memory.pk == pk for hit in hits)
        return {"texts": len(texts), "queries": asked, "recall": found / max(asked, 1)}


def _later_sentence(text: str, rng: random.Random) -> str:
    """Return a sentence from beyond what the model reads of a text without chunks."""
    starts = active_model.get().token_starts(text)
    later = text[starts[READ_TOKENS] :] if len(starts) > READ_TOKENS else ""
    sentences = re.findall(r"[A-Z][^.\n`]{40,200}\.", later)
    return rng.choice(sentences) if sentences else ""
