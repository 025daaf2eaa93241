"""Rank the files of earlier tasks for a new one (docs/ranking.md, "Where to start")."""

from __future__ import annotations

import math
import posixpath
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from common.caller import Caller
from common.text import literals, word_hashes
from common.text.paths import clean_path
from context.files import file_use, twins
from context.files.file_use import FileUse
from context.files.recommended_file import FileList, FileOfMemories, RecommendedFile
from memories.models import File
from memories.scopes import Scope
from projects.models import Project

# The weights of the parts of a score, each divided by its largest value. They were read on
# 140 sessions (docs/benchmarks.md, "Where to start").
WEIGHTS = {
    "words": 0.5,
    "path": 0.2,
    "branch": 0.6,
    "recent": 0.15,
    "named": 1.0,
    "session": 1.0,
    "linked": 0.2,
}
MIN_SCORE = 0.2  # of the sum; below it, only recency speaks for a file
PATH_TIMES = 3  # a word of the path counts as if it were written so often
K1, B = 1.2, 0.75  # BM25
MAX_TIMES = 3.0  # a word that the request repeats counts at most so much
EARLIER = 0.7  # a request before counts so much of the one after it
MAX_QUERY = 2_000  # characters of a request
# A branch that every task shares says nothing.
SHARED_BRANCHES = frozenset({"", "main", "master", "trunk", "develop", "HEAD"})
MIN_NAME = 5  # characters of a file's name that a request may name alone


def recommend(
    project: Project,
    description: str,
    caller: Caller,
    *,
    limit: int,
    linked: Sequence[FileOfMemories] = (),
    scope: Scope | None = None,
    session: str = "",
    branch: str = "",
) -> FileList:
    """Return the files that earlier tasks suggest for a task.

    Only tasks that the caller may see count, and only files that were not reported gone.
    `linked` are the files of memories that match the task.
    """
    earlier = file_use.earlier_requests(project, session, caller, scope)
    query = weigh_words([description, *earlier])
    uses = file_use.count(
        project,
        [word_hashes.hash_word(word) for word in query],
        caller,
        scope=scope,
        session=session,
        branch="" if branch in SHARED_BRANCHES else branch,
    )
    named = _named_files(project, description, caller)
    return FileList(tuple(rank(uses, query, description, linked, named)[:limit]))


def weigh_words(requests: Sequence[str]) -> dict[str, float]:
    """Return the words of the requests, the newest first, with their weights."""
    weights: defaultdict[str, float] = defaultdict(float)
    for age, request in enumerate(requests):
        for word in word_hashes.split(request[:MAX_QUERY]):
            weights[word] += EARLIER**age
    return {word: min(weight, MAX_TIMES) for word, weight in weights.items()}


def rank(
    uses: Iterable[FileUse],
    query: Mapping[str, float],
    description: str,
    linked: Sequence[FileOfMemories] = (),
    named: Sequence[str] = (),
) -> list[RecommendedFile]:
    """Return the files by descending score; a file and its test are one.

    `named` are known files whose names stand in the description.
    """
    known = {use.path: use for use in uses}
    for path in (*(link.path for link in linked), *named):
        known.setdefault(path, FileUse(path))
    present = [use for use in known.values() if not use.is_gone]
    link_of = {link.path: link for link in linked}
    subject_of = twins.group(use.path for use in present)
    groups: defaultdict[str, list[FileUse]] = defaultdict(list)
    for use in present:
        groups[subject_of[use.path]].append(use)
    parts = _score_parts(groups, query, description)
    parts["linked"] = {
        subject_of[path]: link.score
        for path, link in link_of.items()
        if path in subject_of
    }
    scores: defaultdict[str, float] = defaultdict(float)
    for name, values in parts.items():
        most = max(values.values(), default=0.0)
        for path, value in values.items():
            scores[path] += WEIGHTS[name] * value / most if most else 0.0
    best = max(scores.values(), default=0.0)
    ordered = sorted(scores, key=lambda path: (-scores[path], path))
    return [
        _describe(path, groups[path], round(scores[path] / best, 4), parts, link_of)
        for path in ordered
        if scores[path] >= MIN_SCORE
    ]


def _score_parts(
    groups: Mapping[str, Sequence[FileUse]],
    query: Mapping[str, float],
    description: str,
) -> dict[str, dict[str, float]]:
    hashes = {word_hashes.hash_word(word): weight for word, weight in query.items()}
    in_path = {
        path: Counter(
            dict.fromkeys(
                (word_hashes.hash_word(word) for word in word_hashes.split(path)),
                PATH_TIMES,
            )
        )
        for path in groups
    }
    in_all = {path: Counter(counts) for path, counts in in_path.items()}
    sizes = {path: sum(counts.values()) for path, counts in in_path.items()}
    path_sizes = dict(sizes)
    for path, uses in groups.items():
        for use in uses:
            in_all[path].update(use.found)
            sizes[path] += use.words
    return {
        "words": _score_words(in_all, sizes, hashes),
        "path": _score_words(in_path, path_sizes, hashes),
        "branch": _sum(groups, "on_branch"),
        "recent": _sum(groups, "recent"),
        "session": _sum(groups, "in_session"),
        "named": {
            path: 1.0
            for path, uses in groups.items()
            if any(_is_named(use.path, description) for use in uses)
        },
    }


def _score_words(
    documents: Mapping[str, Mapping[int, int]],
    sizes: Mapping[str, int],
    query: Mapping[int, float],
) -> dict[str, float]:
    """Return BM25 of each document that has a word of the query."""
    frequency = Counter(
        word for counts in documents.values() for word in counts if word in query
    )
    total = len(documents)
    average = sum(sizes.values()) / max(total, 1) or 1.0
    scores: dict[str, float] = {}
    for path, counts in documents.items():
        norm = K1 * (1 - B + B * sizes[path] / average)
        score = sum(
            query[word]
            * math.log(1 + (total - frequency[word] + 0.5) / (frequency[word] + 0.5))
            * times
            * (K1 + 1)
            / (times + norm)
            for word, times in counts.items()
            if word in query
        )
        if score:
            scores[path] = score
    return scores


def _sum(groups: Mapping[str, Sequence[FileUse]], name: str) -> dict[str, float]:
    sums = {
        path: sum(getattr(use, name) for use in uses) for path, uses in groups.items()
    }
    return {path: value for path, value in sums.items() if value}


def _is_named(path: str, description: str) -> bool:
    name = posixpath.basename(path)
    return path in description or (len(name) >= MIN_NAME and name in description)


def _describe(
    path: str,
    uses: Sequence[FileUse],
    score: float,
    parts: Mapping[str, Mapping[str, float]],
    link_of: Mapping[str, FileOfMemories],
) -> RecommendedFile:
    own = sorted(uses, key=lambda use: (use.path != path, use.path))
    links = [link_of[use.path] for use in own if use.path in link_of]
    reasons = _reasons(path, sum(use.changes for use in uses), parts)
    if path not in parts["named"]:
        reasons += [one.reason for one in links]
    return RecommendedFile(
        file_path=path,
        score=score,
        reason=", ".join(reasons),
        purpose=next((use.purpose for use in own if use.purpose), ""),
        test_path=next((use.path for use in own if use.path != path), ""),
        memory_ids=tuple(dict.fromkeys(pk for one in links for pk in one.memory_ids)),
    )


def _reasons(
    path: str, changes: int, parts: Mapping[str, Mapping[str, float]]
) -> list[str]:
    names = {
        "session": "used in this session",
        "branch": "changed on this branch",
        "words": "has words of the task",
    }
    if path in parts["named"]:
        return ["named in the task"]
    said = [text for name, text in names.items() if path in parts[name]]
    if changes:
        said.append(f"changed in {changes} task{'' if changes == 1 else 's'}")
    return said


def _named_files(project: Project, description: str, caller: Caller) -> list[str]:
    names = {clean_path(word) for word in literals.find_identifiers(description)}
    files = File.objects.visible_to(caller).filter(project=project)
    named = files.filter(file_path__in=names).order_by("file_path")
    return [file.file_path for file in named if not file.is_gone]
