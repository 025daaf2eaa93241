"""Run the tests of agents' frameworks against the adapters of the client.

    .venv/bin/python tests/outside/run_adapters.py [FRAMEWORK …] [--folder FOLDER]

The tests come from the source packages that the frameworks publish; Google ADK publishes none,
and `frameworks/google_adk_cases.py` restates them. A service is started for the run. Nothing is
kept but in FOLDER (`var/outside`): the packages, and a virtual environment for them.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import socket
import subprocess
import sys
import tarfile
import tempfile
import time
import venv
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

BASE = Path(__file__).resolve().parents[2]
PLUGINS = Path(__file__).with_name("frameworks")
START_SECONDS = 180.0
STOP_SECONDS = 60.0
COMMON = ("pytest==9.2.0", "pytest-asyncio==1.5.0", "httpx>=0.27,<1")


@dataclass(frozen=True)
class Framework:
    """Where a framework's tests are, and what they need; without `sdist`, they are ours."""

    requirement: str
    tests: Sequence[str]
    plugin: str = ""
    sdist: str = ""
    # The part of the package that is copied for the tests.
    copied: str = "tests"
    further: Sequence[str] = field(default=())


FRAMEWORKS = {
    "anthropic": Framework(
        requirement="anthropic==2.9.0",
        sdist="anthropic==2.9.0",
        copied="tests/lib/tools/memory_tools",
        tests=["tests/lib/tools/memory_tools/test_filesystem.py"],
        plugin="anthropic_plugin",
    ),
    "openai-agents": Framework(
        requirement="openai-agents==0.24.0",
        sdist="openai-agents==0.24.0",
        tests=[
            f"tests/memory/test_session{each}.py"
            for each in ("", "_limit", "_context_wrapper", "_persistence_sanitize")
        ],
        plugin="openai_agents_plugin",
    ),
    "langgraph": Framework(
        requirement="langgraph-checkpoint-postgres==3.2.0",
        sdist="langgraph-checkpoint-postgres==3.2.0",
        tests=["tests/test_store.py", "tests/test_async_store.py"],
        plugin="langgraph_plugin",
        further=["psycopg[binary,pool]"],
    ),
    "google-adk": Framework(
        requirement="google-adk==2.13.0", tests=["google_adk_cases.py"]
    ),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("framework", nargs="*", default=list(FRAMEWORKS))
    parser.add_argument("--folder", type=Path, default=BASE / "var" / "outside")
    options = parser.parse_args()
    names = options.framework
    if unknown := set(names) - set(FRAMEWORKS):
        parser.error(f"no framework: {', '.join(sorted(unknown))}")
    python = make_environment(options.folder, [FRAMEWORKS[name] for name in names])
    with serve() as environment:
        codes = [run(name, python, options.folder, environment) for name in names]
    return max(codes)


def make_environment(folder: Path, frameworks: Sequence[Framework]) -> Path:
    """Install the frameworks beside each other, away from the service's packages."""
    home = folder / "venv"
    python = home / "bin" / "python"
    if not python.exists():
        venv.create(home, with_pip=True)
    wanted = [each for f in frameworks for each in (f.requirement, *f.further)]
    install = [python, "-m", "pip", "install", "--quiet"]
    subprocess.run([*install, *COMMON, *wanted], check=True)
    return python


@contextmanager
def serve() -> Iterator[Mapping[str, str]]:
    """Start a service with an empty project; yield the environment of its client."""
    with (
        tempfile.TemporaryDirectory(prefix="outside-") as data,
        socket.socket() as free,
    ):
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        Path(data).chmod(0o755)  # root's PostgreSQL runs as another user
        output = Path(data, "up.out")
        process = start_service(port, Path(data, "data"), output)
        try:
            wait_until_ready(process, output)
            (key,) = re.findall(r"^API key: (\S+)$", output.read_text(), re.MULTILINE)
            yield make_project(f"http://127.0.0.1:{port}", key)
        finally:
            process.terminate()
            process.wait(STOP_SECONDS)


def start_service(port: int, data: Path, output: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "manage.py", "up", "--port", str(port), "--data", data]
    own = {"THROTTLE_KEY": "", "THROTTLE_PROJECT": ""}
    own["SERVICE_NOTES"] = str(data / "notes")
    with output.open("wb") as log:
        return subprocess.Popen(
            command,
            cwd=BASE,
            env=os.environ | own,
            stdout=log,
            stderr=subprocess.STDOUT,
        )


def wait_until_ready(process: subprocess.Popen[bytes], output: Path) -> None:
    until = time.monotonic() + START_SECONDS
    while "\nCtrl-C stops it." not in output.read_text():
        if process.poll() is not None or time.monotonic() > until:
            raise SystemExit(f"The service did not start:\n{output.read_text()}")
        time.sleep(0.2)


def make_project(url: str, key: str) -> Mapping[str, str]:
    sys.path.insert(0, str(BASE / "client"))
    from agent_memory import Client

    with Client(url, key) as client:
        client.projects_create(name="outside")
    paths = os.pathsep.join([str(BASE / "client"), str(PLUGINS)])
    return {"OUTSIDE_URL": url, "OUTSIDE_KEY": key, "PYTHONPATH": paths}


def run(name: str, python: Path, folder: Path, environment: Mapping[str, str]) -> int:
    """Run the tests of a framework and print their counts and the reasons of the skips."""
    framework = FRAMEWORKS[name]
    with tempfile.TemporaryDirectory(prefix="outside-") as home:
        copy_tests(framework, python, folder, Path(home))
        report = Path(home, "report.xml")
        options = [
            "-q",
            "--tb=short",
            "-p",
            "no:cacheprovider",
            "-o",
            "asyncio_mode=auto",
        ]
        options += ["-p", framework.plugin] if framework.plugin else []
        done = subprocess.run(
            [
                python,
                "-m",
                "pytest",
                *options,
                f"--junitxml={report}",
                *framework.tests,
            ],
            cwd=home,
            env=os.environ | environment,
        )
        print_counts(name, framework, report)
    return done.returncode


def copy_tests(framework: Framework, python: Path, folder: Path, home: Path) -> None:
    if not framework.sdist:
        for name in framework.tests:
            shutil.copy(PLUGINS / name, home)
        return
    packed = download(framework.sdist, python, folder)
    with tarfile.open(packed) as archive:
        archive.extractall(home / "package", filter="data")
    (package,) = (home / "package").iterdir()
    shutil.copytree(package / framework.copied, home / framework.copied)


def download(requirement: str, python: Path, folder: Path) -> Path:
    """Return the source package of a requirement, from the index of pip."""
    name, _, version = requirement.partition("==")
    pattern = f"{name.replace('-', '_')}-{version}.tar.gz"
    if not (folder / pattern).exists():
        command = [python, "-m", "pip", "download", "--quiet", "--no-deps"]
        command += ["--no-binary=:all:", "--dest", folder, requirement]
        subprocess.run(command, check=True)
    return folder / pattern


def print_counts(name: str, framework: Framework, report: Path) -> None:
    cases = list(ET.parse(report).iter("testcase"))
    failed = [c for c in cases if {"failure", "error"} & {part.tag for part in c}]
    reasons = Counter(
        str(skip.get("message")) for c in cases for skip in c.iter("skipped")
    )
    skipped = sum(reasons.values())
    passed = len(cases) - len(failed) - skipped
    source = framework.sdist or framework.requirement
    lines = [
        f"{name} ({source}): {passed} passed, {len(failed)} failed, {skipped} skipped"
    ]
    lines += [f"  {count} skipped: {reason}" for reason, count in reasons.most_common()]
    lines += [f"  failed: {case.get('name')}" for case in failed]
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
