"""Collections of judged queries: `corpus.jsonl`, `queries.jsonl`, `qrels.tsv`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TURNS = "turns.jsonl"  # beside `questions.jsonl`, in a folder of conversations
FILES = ("corpus.jsonl", "queries.jsonl", "qrels.tsv")


@dataclass(frozen=True)
class CorpusDocument:
    id: str
    title: str
    text: str
    # The conversation to which a turn belongs.
    part: str = ""


@dataclass(frozen=True)
class JudgedQuery:
    """A query with the grades of its judged documents.

    A query without an answer has no grades. A query with a `part` searches only the
    documents of this part.
    """

    id: str
    text: str
    grades: dict[str, float]
    part: str = ""


@dataclass(frozen=True)
class JudgedCollection:
    name: str
    documents: list[CorpusDocument]
    queries: list[JudgedQuery]


def load_collection(folder: Path) -> JudgedCollection:
    if (folder / TURNS).exists():
        return _load_conversations(folder)
    grades: dict[str, dict[str, float]] = {}
    for query, document, grade in _judgements(folder / "qrels.tsv"):
        if grade > 0:
            grades.setdefault(query, {})[document] = grade
    return JudgedCollection(
        name=folder.name,
        documents=[
            CorpusDocument(
                str(row["_id"]), row.get("title") or "", row.get("text") or ""
            )
            for row in _rows(folder / "corpus.jsonl")
        ],
        queries=[
            JudgedQuery(str(row["_id"]), row["text"], grades.get(str(row["_id"]), {}))
            for row in _rows(folder / "queries.jsonl")
        ],
    )


def _load_conversations(folder: Path) -> JudgedCollection:
    """Load conversations: a document is a turn, and a question searches its conversation."""
    return JudgedCollection(
        name=folder.name,
        documents=[
            CorpusDocument(
                row["id"], "", f"{row['speaker']}: {row['text']}", part=row["conv"]
            )
            for row in _rows(folder / TURNS)
        ],
        queries=[
            JudgedQuery(
                row["qid"],
                row["question"],
                dict.fromkeys(row["evidence"], 1.0),
                part=row["conv"],
            )
            for row in _rows(folder / "questions.jsonl")
        ],
    )


def conversation_folders(data: Path) -> list[Path]:
    """Return the folders `DIR/conversations/*` that have turns and questions."""
    found = (data / "conversations").glob(f"*/{TURNS}")
    return sorted(path.parent for path in found)


def collection_folders(data: Path) -> list[Path]:
    """Return the folders of the collections in a data folder.

    They are `DIR/search/*`, `DIR/*`, or DIR itself.
    """
    for parent in (data / "search", data):
        folders = sorted(path.parent for path in parent.glob(f"*/{FILES[0]}"))
        if folders:
            return folders
    return [data] if (data / FILES[0]).exists() else []


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            if line.strip():
                yield json.loads(line)


def _judgements(path: Path) -> Iterator[tuple[str, str, float]]:
    """Yield the query, document and grade of each row. The header is skipped."""
    for line in path.read_text(encoding="utf-8").splitlines():
        parts = line.split("\t")
        if len(parts) >= 3 and parts[-1].strip().lstrip("-").isdigit():
            yield parts[0], parts[-2], float(parts[-1])
