"""Read the prompts of the reflector and the curator from `ace/prompts`."""

from __future__ import annotations

from pathlib import Path

from inference.language import prompts
from inference.language.prompts import Prompt

FOLDER = Path(__file__).parent.parent / "prompts"


def read(name: str) -> Prompt:
    return prompts.read(FOLDER / f"{name}.md")
