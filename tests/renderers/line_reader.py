"""Read a rendered line from left to right, as a strict reader of its format does."""

from __future__ import annotations

import json
import re
from typing import Any

_DECODER = json.JSONDecoder()


class LineReader:
    def __init__(self, line: str) -> None:
        self.line, self.at = line, 0

    def skip(self, literal: str) -> None:
        found = self.line[self.at : self.at + len(literal)]
        assert found == literal, (literal, self.line[self.at :])
        self.at += len(literal)

    def has(self, literal: str) -> bool:
        """Skip a literal if it is next."""
        found = self.line.startswith(literal, self.at)
        self.at += len(literal) if found else 0
        return found

    def match(self, pattern: str) -> str:
        found = re.compile(pattern).match(self.line, self.at)
        assert found, (pattern, self.line[self.at :])
        self.at = found.end()
        return found[0]

    def json(self) -> Any:
        value, self.at = _DECODER.raw_decode(self.line, self.at)
        return value

    def string(self) -> str:
        value = self.json()
        assert isinstance(value, str), value
        return value

    def name(self) -> str:
        """Read a plain name or a JSON string."""
        is_string = self.line.startswith('"', self.at)
        return self.string() if is_string else self.match(r"[a-z][a-z0-9_.-]*")

    def end(self) -> None:
        assert self.at == len(self.line), self.line[self.at :]
