"""A recommended file, and the memories that link to a file."""

from __future__ import annotations

from dataclasses import dataclass

from context.files import file_lines


@dataclass(frozen=True)
class FileOfMemories:
    """A file of memories that match the task; `score` is the sum of their scores."""

    path: str
    score: float
    memory_ids: tuple[str, ...]
    reason: str


@dataclass(frozen=True)
class RecommendedFile:
    """A file to start with; `score` is in 0..1, and `test_path` is the test of the file.

    `purpose` is a foreign text: what the file says of itself, or the names it declares.
    """

    file_path: str
    score: float
    reason: str
    purpose: str = ""
    test_path: str = ""
    memory_ids: tuple[str, ...] = ()


@dataclass(frozen=True)
class FileList:
    """The recommended files, the best first; `text` has the lines of the first five."""

    files: tuple[RecommendedFile, ...]

    @property
    def text(self) -> str:
        return file_lines.write([(file.file_path, file.purpose) for file in self.files])
