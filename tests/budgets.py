"""The seconds that each folder of tests took, beside its budget.

A whole run of the daily tests fails if a folder takes half more than its budget: a test there
does twice what it needs, or belongs to the slow sweeps. The seconds are the sum over all
workers.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

# On the two cores of CI.
BUDGETS: dict[str, float] = {
    "tests/playbook": 130,
    "tests/ace": 95,
    "tests/agents": 90,
    "tests/isolation": 80,
    "tests/console": 75,
    "tests/embedded": 65,
    "tests/conversations": 65,
    "tests/memories": 60,
    "tests/search": 60,
    "tests/browser": 60,
    "tests/mcp_server": 50,
    "tests/operations": 65,
    "tests/faults": 35,
    "client/tests": 30,
    "tests/api": 30,
    "tests/conformance": 30,
    "tests/context": 25,
    "tests/admin": 20,
    "tests/inference": 20,
    "tests/common": 20,
}
OTHERS = 15.0  # of a folder that is not named
MOST = 1.5  # times its budget that a folder may take


class FolderSeconds:
    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.spent: Counter[str] = Counter()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        path = Path(report.nodeid.partition("::")[0])
        self.spent["/".join(path.parts[:2])] += report.duration

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.over_budget() and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter
    ) -> None:
        if not self.is_whole_run():
            return
        terminalreporter.section("seconds of each folder (budget)")
        for folder, seconds in self.spent.most_common():
            line = f"{seconds:7.0f} ({self.budget(folder):.0f}) {folder}"
            terminalreporter.write_line(line)
        for folder in self.over_budget():
            terminalreporter.write_line(
                f"{folder} takes more than {MOST} times its budget: make its tests "
                "cheaper, mark a sweep as slow, or raise the budget in tests/budgets.py.",
                red=True,
            )

    def is_whole_run(self) -> bool:
        """Whether all daily tests ran, and nothing else."""
        is_all = self.config.args_source == pytest.Config.ArgsSource.TESTPATHS
        return is_all and self.config.option.markexpr == "not slow"

    def over_budget(self) -> list[str]:
        if not self.is_whole_run():
            return []
        return [
            folder
            for folder, seconds in self.spent.items()
            if seconds > MOST * self.budget(folder)
        ]

    def budget(self, folder: str) -> float:
        return BUDGETS.get(folder, OTHERS)


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(FolderSeconds(config), "folder_seconds")
