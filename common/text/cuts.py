"""Cut texts to their limits, and say which texts were cut, with both lengths."""

from __future__ import annotations

from common.text import plain_text

MAX_LISTED = 10  # cuts that the notes of one write name
MAX_NAME = 80  # characters of a field's path; a key of free JSON may be long


class Cuts:
    """The cuts of one write; `rest` says where the whole texts are."""

    def __init__(self, rest: str = "") -> None:
        self.rest = f"; {rest}" if rest else ""
        self.count = 0
        self._notes: list[str] = []

    def clip(self, name: str, text: str, limit: int) -> str:
        """Return the text within the limit; remember the cut of the field `name`."""
        cut = plain_text.clip(text, limit)
        if cut is not text:
            self.count += 1
            lengths = f"from {len(text):,} to {len(cut):,} characters"
            if self.count <= MAX_LISTED:
                field = plain_text.clip(name, MAX_NAME)
                self._notes.append(f"{field} was cut {lengths}{self.rest}.")
        return cut

    @property
    def notes(self) -> tuple[str, ...]:
        more = self.count - MAX_LISTED
        last = (f"{more} more texts were cut{self.rest}.",) if more > 0 else ()
        return (*self._notes, *last)
