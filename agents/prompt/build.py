"""Build the prompt of one step, in the order of seed 004."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from agents.prompt.fit import Block
from agents.prompt.parts import (
    SEPARATOR,
    PartWriter,
    PromptPart,
    item_blocks,
    text_blocks,
)
from agents.prompt.step_texts import CONDENSED, step_blocks, step_messages
from agents.prompt.system import PromptProtocol, write_protocol
from agents.prompt.templates import fill_template
from agents.recall.recalled_memory import NAMES, ItemKind, RecalledMemory
from agents.steps import AgentStep
from agents.tools.tool import Tool
from agents.working_memory import WorkingMemory
from inference import tokens
from inference.language.fence import repeatable_marker, write_fence
from projects.options import TemplateName

# The shares of the budget (design page 08). What a part does not use, and the rest, goes to
# the working memory.
DIGEST_SHARE, CONVERSATION_SHARE = 0.45, 0.20
# The sections of the digest in their order, and the share of the budget of each; what facts,
# episodes and rules leave of the digest goes to the other memories.
SECTIONS: dict[TemplateName, ItemKind] = {
    "facts": "fact",
    "episodes": "episode",
    "memories": "memory",
    "rules": "rule",
}
SECTION_SHARE = 0.15
NO_STEPS = "(no steps yet)"
STEPS_FOLLOW = "the steps follow"


@dataclass(frozen=True)
class PromptInput:
    """What a prompt is built of. `token_budget` is for memory and steps together.

    `templates` are those that the project replaces (`agents.templates`).
    """

    question: str
    recalled: RecalledMemory
    working: WorkingMemory
    tools: Sequence[Tool]
    protocol: PromptProtocol
    additional_context: str
    token_budget: int
    templates: Mapping[TemplateName, str] = field(default_factory=dict)


@dataclass(frozen=True)
class BuiltPrompt:
    """A prompt in parts, as one text after the system text, and as messages of a chat.

    `cut` says of each part what had no room.
    """

    system: str
    parts: tuple[PromptPart, ...]
    text: str
    messages: list[dict[str, Any]]
    cut: tuple[str, ...]

    @property
    def tokens(self) -> int:
        """Estimate the tokens of the system text and of the text after it."""
        return tokens.estimate(self.system) + tokens.estimate(self.text)


@dataclass(frozen=True)
class PromptBlocks:
    """All foreign texts of a prompt, without secrets and invisible characters."""

    items: dict[ItemKind, list[Block]]
    notes: list[Block]
    condensed: list[Block]
    steps: list[Block]

    @classmethod
    def of(cls, given: PromptInput) -> PromptBlocks:
        recalled, working = given.recalled, given.working
        return cls(
            {kind: item_blocks(recalled.of_kind(kind)) for kind in NAMES},
            text_blocks("notes", recalled.notes),
            text_blocks(CONDENSED, working.condensed),
            step_blocks(working.steps, working.condensed_steps + 1),
        )

    def choose_marker(self) -> str:
        """Return a marker that no text has, and that is the same at each step of a run."""
        recalled = [*chain.from_iterable(self.items.values()), *self.notes]
        seed = [each.text for block in recalled for each in block]
        own = [each for block in self.condensed + self.steps for each in block]
        return repeatable_marker(seed, [*seed, *(each.text for each in own)])


def build_prompt(given: PromptInput) -> BuiltPrompt:
    """Return the prompt; memory and steps take at most the budget.

    System text and question come on top. The same input gives the same prompt within a
    process, and the prompts of a run begin alike.
    """
    blocks = PromptBlocks.of(given)
    writer = PartWriter(blocks.choose_marker(), given.templates)
    room = given.token_budget * tokens.BYTES_PER_TOKEN
    memory = _memory_parts(given.recalled, blocks, writer, room)
    room -= sum(part.cost for part in memory)
    working, kept = _working_part(blocks, writer, room)
    asked = fill_template("question", given.templates, question=given.question)
    question = PromptPart("question", asked)
    system = _write_system(given, blocks, writer)
    user = working
    steps: list[dict[str, Any]] = []
    if given.protocol == "tools":
        user, steps = _split_steps(given.working.steps, working, kept, writer)
    parts = (*memory, working, question)
    return BuiltPrompt(
        system,
        (PromptPart("system", system), *parts),
        _join(parts),
        [
            {"role": "system", "content": system},
            {"role": "user", "content": _join((*memory, user, question))},
            *steps,
        ],
        tuple(f"{part.name}: {part.cut}" for part in parts if part.cut),
    )


def _join(parts: Sequence[PromptPart]) -> str:
    return SEPARATOR.join(part.text for part in parts if part.text)


def _memory_parts(
    recalled: RecalledMemory, blocks: PromptBlocks, writer: PartWriter, room: int
) -> tuple[PromptPart, ...]:
    conversation, _ = writer.write(
        "conversation",
        blocks.items["invocation"],
        int(room * CONVERSATION_SHARE),
        ids=[item.id for item in recalled.of_kind("invocation")],
        keeps_last=True,
    )
    return _digest_part(recalled, blocks, writer, room), conversation


def _digest_part(
    recalled: RecalledMemory, blocks: PromptBlocks, writer: PartWriter, room: int
) -> PromptPart:
    """Return the one part of durable memory: its sections, and what is left out of them."""
    left_out = "; ".join(recalled.left_out)
    note = f"({left_out})" if left_out else ""
    free = int(room * DIGEST_SHARE) - writer.write_line("digest", f"{note}\n\n").cost
    sections: dict[TemplateName, PromptPart] = {}
    for name in sorted(SECTIONS, key=lambda name: name == "memories"):
        kind = SECTIONS[name]
        most = free if name == "memories" else min(free, int(room * SECTION_SHARE))
        sections[name], _ = writer.write(
            name,
            blocks.items[kind],
            most,
            ids=[item.id for item in recalled.of_kind(kind)],
        )
        free -= sections[name].cost
    parts = [sections[name] for name in SECTIONS]
    cut = [f"{name}: {sections[name].cut}" for name in SECTIONS if sections[name].cut]
    texts = [part.text for part in parts if part.text]
    if note and free >= 0:
        texts.append(note)
    return PromptPart(
        "digest",
        writer.write_line("digest", SEPARATOR.join(texts)).text if texts else "",
        tuple(pk for part in parts for pk in part.ids),
        "; ".join([*cut, *recalled.left_out]),
    )


def _working_part(
    blocks: PromptBlocks, writer: PartWriter, room: int
) -> tuple[PromptPart, tuple[Block, ...]]:
    """Return the working memory, and the blocks that it has."""
    every = blocks.condensed + blocks.steps
    if every:
        return writer.write("working_memory", every, room, keeps_last=True)
    part = writer.write_line("working_memory", NO_STEPS)
    return (part if part.cost <= room else PromptPart("working_memory", "")), ()


def _split_steps(
    steps: Sequence[AgentStep],
    working: PromptPart,
    kept: Sequence[Block],
    writer: PartWriter,
) -> tuple[PromptPart, list[dict[str, Any]]]:
    """Return the working memory without its steps, and the steps as messages."""
    of_steps = [block for block in kept if len(block) > 1]
    if not of_steps:
        return working, []
    condensed = [block for block in kept if len(block) == 1]
    part = writer.write_kept("working_memory", condensed, working.cut or STEPS_FOLLOW)
    last = steps[len(steps) - len(of_steps) :]
    return part, list(step_messages(last, of_steps, writer.marker))


def _write_system(given: PromptInput, blocks: PromptBlocks, writer: PartWriter) -> str:
    notes = [text for block in blocks.notes for text in block]
    return fill_template(
        "system",
        given.templates,
        marker=writer.marker,
        additional_context=given.additional_context.strip(),
        notes=write_fence(notes, writer.marker) if notes else "",
        protocol=write_protocol(given.protocol, given.tools, given.templates),
    )
