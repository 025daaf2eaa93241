"""The parts of a prompt that recalled texts and steps fill, each within its share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agents.prompt.fit import Block, count_bytes, fit_blocks, fit_last_blocks
from agents.prompt.templates import fill_template
from agents.recall.recalled_memory import RecalledItem
from inference import tokens
from inference.language.fence import FencedText, make_safe, write_fence
from projects.options import TemplateName

SEPARATOR = "\n\n"  # between two parts
NOTE_BYTES = 80  # of the line that says what was cut


@dataclass(frozen=True)
class PromptPart:
    """A part with its heading; "" if there is nothing to say, or no room to say it.

    `ids` are those of the items that the part holds. `cut` says what has no room.
    """

    name: str
    text: str
    ids: tuple[str, ...] = ()
    cut: str = ""

    @property
    def tokens(self) -> int:
        return tokens.estimate(self.text)

    @property
    def cost(self) -> int:
        """Return the bytes of the part with the separator before it."""
        return count_bytes(self.text) + len(SEPARATOR) if self.text else 0


@dataclass(frozen=True)
class PartWriter:
    """Writes parts with one marker, and with the templates that the project replaces."""

    marker: str
    templates: Mapping[TemplateName, str]

    def write(
        self,
        name: TemplateName,
        blocks: Sequence[Block],
        room: int,
        *,
        ids: Sequence[str] = (),
        keeps_last: bool = False,
    ) -> tuple[PromptPart, tuple[Block, ...]]:
        """Return a part of at most `room` bytes with its separator, and its blocks.

        With `keeps_last`, the first blocks are cut; otherwise the last ones.
        """
        if not blocks:
            return PromptPart(name, ""), ()
        fit = fit_last_blocks if keeps_last else fit_blocks
        room -= self._overhead(name)
        found = fit(blocks, room, self.marker)
        if not found.is_whole:
            found = fit(blocks, room - NOTE_BYTES, self.marker)
        cut = _describe_cut(len(blocks), found.left_out, found.shortened)
        kept = len(found.blocks)
        named = ids[len(ids) - kept :] if keeps_last else ids[:kept]
        if not kept:
            return PromptPart(name, "", cut=cut), ()
        text = self.write_kept(name, found.blocks, cut).text
        return PromptPart(name, text, tuple(named), cut), found.blocks

    def write_kept(
        self, name: TemplateName, blocks: Sequence[Block], note: str
    ) -> PromptPart:
        """Return a part of blocks that fit, and of a note in brackets after them."""
        texts = [text for block in blocks for text in block]
        fence = [write_fence(texts, self.marker)] if texts else []
        return self.write_line(
            name, "\n".join([*fence, *([f"({note})"] if note else [])])
        )

    def write_line(self, name: TemplateName, items: str) -> PromptPart:
        return PromptPart(name, fill_template(name, self.templates, items=items))

    def _overhead(self, name: TemplateName) -> int:
        """Return the bytes of heading, closing marker line, and separator."""
        return self.write_line(name, write_fence((), self.marker)).cost


def _describe_cut(total: int, left_out: int, shortened: int) -> str:
    parts = []
    if left_out:
        parts.append(f"{left_out} of {total} left out")
    if shortened:
        parts.append(f"{shortened} shortened")
    return f"{', '.join(parts)}: no room" if parts else ""


def item_blocks(items: Sequence[RecalledItem]) -> list[Block]:
    """Return a block for each item; its name has the kind, number, date and mark."""
    return [
        (make_safe(FencedText(_name(number, item), item.text)),)
        for number, item in enumerate(items, start=1)
    ]


def text_blocks(name: str, text: str) -> list[Block]:
    """Return a block of a text; none if the text is blank."""
    return [(make_safe(FencedText(name, text)),)] if text.strip() else []


def _name(number: int, item: RecalledItem) -> str:
    date = f"{item.at:%Y-%m-%d}" if item.at else ""
    return ", ".join(filter(None, [f"{item.kind} {number}", date, item.mark]))
