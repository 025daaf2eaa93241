"""A registry of providers: it creates the one that the settings name."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from typing import Generic, TypeVar

from django.conf import settings
from django.utils.module_loading import import_string

from inference.errors import ProviderMisconfiguration

Provider = TypeVar("Provider")


class Registry(Generic[Provider]):
    """The provider that the settings name; each process has one instance.

    `table` maps each value of the setting `choice` to the dotted path of a class that needs
    no constructor arguments. When a setting in `reads` changes, a new instance is created.
    After a fork, a new instance is created too, because a child process has none of its
    parent's worker threads.
    """

    def __init__(
        self, *, choice: str, table: Mapping[str, str], reads: Sequence[str]
    ) -> None:
        self.choice = choice
        self.table = table
        self._reads = (choice, *reads)
        self._lock = threading.Lock()
        self._current: tuple[tuple[object, ...], Provider] | None = None

    def active(self) -> Provider:
        key = (os.getpid(), *(getattr(settings, name) for name in self._reads))
        current = self._current
        if current is not None and current[0] == key:
            return current[1]
        with self._lock:
            if self._current is None or self._current[0] != key:
                self._current = (key, self.create(getattr(settings, self.choice)))
            return self._current[1]

    def create(self, name: str, *arguments: object) -> Provider:
        """Create a provider by its name in the table."""
        if name not in self.table:
            known = ", ".join(sorted(self.table))
            raise ProviderMisconfiguration(
                f"{self.choice} is {name!r}; it can be {known}."
            )
        provider: Provider = import_string(self.table[name])(*arguments)
        return provider
