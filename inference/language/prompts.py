"""Prompts: files beside the code that uses them, with a hash of the text as version."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path


@dataclass(frozen=True)
class Prompt:
    text: str
    version: str


@cache
def read(path: Path) -> Prompt:
    text = path.read_text(encoding="utf-8")
    digest = hashlib.sha256(text.encode()).hexdigest()
    return Prompt(text, f"{path.stem}-{digest[:12]}")
