"""Arrange a file's graph in rings: the file is in the middle, its branches are around it.

Angles are in degrees, clockwise from the right. Lengths are in units of the viewBox.
Each label lies along the ray of its node, so that the labels of a ring never cover each
other.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from common.text.plain_text import clip
from console.files.graph_branches import Branch, Leaf

HUB_RADIUS, LEAF_RADIUS = 105.0, 235.0  # radii of the inner and the outer ring
START_ANGLE = -90.0
MAX_LABEL = 26  # characters of a leaf's label
# The smallest width of a branch, in leaves. The width of one more leaf separates the
# branch from the next branch.
MIN_LEAVES = 2
# Limits of the width of an edge; a stronger relation gets a wider edge.
THIN, THICK = 1.0, 5.0


@dataclass(frozen=True)
class PlacedNode:
    """A hub or leaf with its position. Its `transform` contains `turn` and `shift`."""

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
        """Whether the label of a node at this angle would be upside down."""
        return 90 < self.angle % 360 < 270

    def point_at(self, radius: float) -> str:
        """Return the point at this radius on the node's ray, as `x y`."""
        turn = math.radians(self.angle)
        return f"{radius * math.cos(turn):.1f} {radius * math.sin(turn):.1f}"


@dataclass(frozen=True)
class Edge:
    path: str
    width: str
    is_suspect: bool = False


@dataclass(frozen=True)
class RadialLayout:
    hubs: list[PlacedNode]
    leaves: list[PlacedNode]
    edges: list[Edge]


def arrange(branches: Sequence[Branch]) -> RadialLayout:
    hubs: list[PlacedNode] = []
    leaves: list[PlacedNode] = []
    edges: list[Edge] = []
    total_width = sum(_width(branch) for branch in branches)
    start = START_ANGLE
    for branch in branches:
        angle = 360 * _width(branch) / total_width
        hub = PlacedNode(_hub_label(branch), start + angle / 2, HUB_RADIUS, branch.kind)
        nodes = list(_leaf_nodes(branch, hub.angle, 360 / total_width))
        hubs.append(hub)
        leaves += nodes
        edges.append(Edge(f"M 0 0 L {hub.point_at(HUB_RADIUS)}", f"{THIN}"))
        edges += [_edge(hub, node) for node in nodes]
        start += angle
    return RadialLayout(hubs, leaves, edges)


def _width(branch: Branch) -> int:
    return max(len(branch.leaves), MIN_LEAVES) + 1


def _hub_label(branch: Branch) -> str:
    return f"{branch.name} ({branch.count:,})"


def _leaf_nodes(branch: Branch, middle: float, step: float) -> Iterator[PlacedNode]:
    first = middle - step * (len(branch.leaves) - 1) / 2
    for number, leaf in enumerate(branch.leaves):
        label = clip(" ".join(leaf.label.split()), MAX_LABEL)
        yield PlacedNode(label, first + number * step, LEAF_RADIUS, branch.kind, leaf)


def _edge(hub: PlacedNode, node: PlacedNode) -> Edge:
    """Return a curve that starts along the hub's ray and ends along the leaf's ray."""
    bend = (HUB_RADIUS + LEAF_RADIUS) / 2
    assert node.leaf
    controls = f"{hub.point_at(bend)} {node.point_at(bend)}"
    return Edge(
        f"M {hub.point_at(HUB_RADIUS)} C {controls} {node.point_at(LEAF_RADIUS)}",
        f"{THIN + (THICK - THIN) * node.leaf.strength:.1f}",
        node.leaf.is_suspect,
    )
