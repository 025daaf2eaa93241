"""A radial drawing: the file in the middle, a branch in each direction.

Angles are degrees clockwise from the right, lengths are units of the viewBox. Labels lie
along their ray, so that no two of a ring can cover each other.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from common.text import clip
from console.files.branches import Branch, Leaf

HUBS, LEAVES = 105.0, 235.0  # radius of either ring
TOP = -90.0
LABEL = 26  # characters of a leaf's label
# A branch takes the room of so many leaves at least, and of one more to its neighbour.
NARROWEST = 2
THIN, THICK = 1.0, 5.0  # lines to related files, by their strength


@dataclass(frozen=True)
class Node:
    """Where something stands: `turn` and `shift` go into its `transform`."""

    label: str
    angle: float
    radius: float
    kind: str
    leaf: Leaf | None = None

    @property
    def turn(self) -> str:
        return f"{self.angle:.2f}"

    @property
    def shift(self) -> str:
        return f"{self.radius:.0f}"

    @property
    def is_left(self) -> bool:
        """Its label would stand upside down."""
        return 90 < self.angle % 360 < 270

    def at(self, radius: float) -> str:
        """The point of that radius on its ray, as `x y`."""
        turn = math.radians(self.angle)
        return f"{radius * math.cos(turn):.1f} {radius * math.sin(turn):.1f}"


@dataclass(frozen=True)
class Line:
    path: str
    width: str
    is_suspect: bool = False


@dataclass(frozen=True)
class Drawing:
    hubs: list[Node]
    leaves: list[Node]
    lines: list[Line]


def drawn(branches: Sequence[Branch]) -> Drawing:
    hubs: list[Node] = []
    leaves: list[Node] = []
    lines: list[Line] = []
    room = sum(_width(branch) for branch in branches)
    start = TOP
    for branch in branches:
        angle = 360 * _width(branch) / room
        hub = Node(_told(branch), start + angle / 2, HUBS, branch.kind)
        around = list(_leaves(branch, hub.angle, 360 / room))
        hubs.append(hub)
        leaves += around
        lines.append(Line(f"M 0 0 L {hub.at(HUBS)}", f"{THIN}"))
        lines += [_line(hub, node) for node in around]
        start += angle
    return Drawing(hubs, leaves, lines)


def _width(branch: Branch) -> int:
    return max(len(branch.leaves), NARROWEST) + 1


def _told(branch: Branch) -> str:
    return f"{branch.name} ({branch.count:,})"


def _leaves(branch: Branch, middle: float, step: float) -> Iterator[Node]:
    first = middle - step * (len(branch.leaves) - 1) / 2
    for number, leaf in enumerate(branch.leaves):
        label = clip(" ".join(leaf.label.split()), LABEL)
        yield Node(label, first + number * step, LEAVES, branch.kind, leaf)


def _line(hub: Node, node: Node) -> Line:
    """It leaves the hub along the hub's ray, and comes in along the leaf's."""
    bend = (HUBS + LEAVES) / 2
    assert node.leaf
    return Line(
        f"M {hub.at(HUBS)} C {hub.at(bend)} {node.at(bend)} {node.at(LEAVES)}",
        f"{THIN + (THICK - THIN) * node.leaf.strength:.1f}",
        node.leaf.is_suspect,
    )
