"""The systems that are compared, and the packages that they need."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec

from benchmarks.peers import chroma_collection, lance_table, own_search, pgvector_table
from benchmarks.peers.search_system import SearchSystem, StoredRows
from projects.models import Project

REQUIREMENTS = "requirements-peers.txt"

OpenSystem = Callable[[Project, StoredRows], AbstractContextManager[SearchSystem]]


@dataclass(frozen=True)
class ComparedSystem:
    """A system, the package that it needs, and whether it is measured on collections.

    The collections have too few rows for LanceDB's indexes of vectors.
    """

    name: str
    open: OpenSystem
    package: str = ""
    on_collections: bool = True

    @property
    def is_installed(self) -> bool:
        return not self.package or find_spec(self.package) is not None


def _lance(index: lance_table.Index) -> OpenSystem:
    return partial(lance_table.open_table, index=index)


SYSTEMS = (
    ComparedSystem("this service", own_search.open_project),
    ComparedSystem("LanceDB, no vector index", _lance("none"), "lancedb"),
    ComparedSystem("LanceDB, IVF_PQ", _lance("IVF_PQ"), "lancedb", False),
    ComparedSystem("LanceDB, HNSW_SQ", _lance("HNSW_SQ"), "lancedb", False),
    ComparedSystem("Chroma", chroma_collection.open_collection, "chromadb"),
    ComparedSystem("pgvector", pgvector_table.open_table),
)


def installed_systems() -> list[ComparedSystem]:
    return [each for each in SYSTEMS if each.is_installed]


def missing_packages() -> list[str]:
    """Say which packages are missing, and how to install them."""
    packages = {each.package for each in SYSTEMS if not each.is_installed}
    return [
        f"{package} is not installed and not measured. To install it: "
        f"python -m pip install -r {REQUIREMENTS}"
        for package in sorted(packages)
    ]
