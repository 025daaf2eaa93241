"""Fit fenced texts into a number of bytes: whole ones in order, and the last one cut."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from inference.language.fence import FencedText, open_fence

# What belongs together: a fact, or the call and the observation of a step.
Block = tuple[FencedText, ...]
# A block that has to be cut shows at least this many bytes, or it is left out.
LEAST = 80
CUT = "\n[{cut:,} bytes left out]\n"
CUT_BYTES = 45  # of the line above, whatever the number


@dataclass(frozen=True)
class FittedBlocks:
    """The blocks that fit, in the order of the input, and what became of the others."""

    blocks: tuple[Block, ...] = ()
    shortened: int = 0
    left_out: int = 0

    @property
    def is_whole(self) -> bool:
        return not (self.shortened or self.left_out)


def count_bytes(text: str) -> int:
    """Return the bytes of a text, as the estimate of tokens counts them."""
    return len(text.encode("utf-8", "surrogatepass"))


def fit_blocks(blocks: Sequence[Block], room: int, marker: str) -> FittedBlocks:
    """Keep the first blocks within `room` bytes; cut the one that does not fit whole."""
    kept: list[Block] = []
    for block in blocks:
        cost = _cost(block, marker)
        if cost > room:
            cut = _cut_block(block, room, marker)
            kept += cut
            return FittedBlocks(tuple(kept), len(cut), len(blocks) - len(kept))
        kept.append(block)
        room -= cost
    return FittedBlocks(tuple(kept))


def fit_last_blocks(blocks: Sequence[Block], room: int, marker: str) -> FittedBlocks:
    """Keep the last blocks within `room` bytes; cut the one that does not fit whole."""
    found = fit_blocks(blocks[::-1], room, marker)
    return FittedBlocks(found.blocks[::-1], found.shortened, found.left_out)


def keep_end_bytes(text: str, limit: int) -> str:
    """Cut out the middle of a text, so that it has at most `limit` bytes."""
    data = text.encode("utf-8", "surrogatepass")
    if len(data) <= limit:
        return text
    room = max(limit - CUT_BYTES, 0)
    head = data[: room - room // 2].decode("utf-8", "ignore")
    tail = data[len(data) - room // 2 :].decode("utf-8", "ignore")
    return f"{head}{CUT.format(cut=len(data) - room)}{tail}"


def _cost(block: Block, marker: str) -> int:
    return sum(count_bytes(each.text) for each in block) + _overhead(block, marker)


def _overhead(block: Block, marker: str) -> int:
    """Return the bytes of the marker lines, and of the line breaks."""
    return sum(count_bytes(open_fence(each.name, marker)) + 2 for each in block)


def _cut_block(block: Block, room: int, marker: str) -> list[Block]:
    """Return the block within `room` bytes; nothing if too little of it would be left.

    The last text gets what the texts before it leave of the room; each of those gets an
    equal share at most.
    """
    room -= _overhead(block, marker)
    if room < (LEAST + CUT_BYTES) * len(block):
        return []
    share, cut = room // len(block), []
    for each in block[:-1]:
        cut.append(FencedText(each.name, keep_end_bytes(each.text, share)))
        room -= count_bytes(cut[-1].text)
    last = FencedText(block[-1].name, keep_end_bytes(block[-1].text, room))
    return [(*cut, last)]
