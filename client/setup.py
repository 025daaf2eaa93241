"""Write the modules that come from the service's schema before they are packed."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from setuptools import setup

CHECKOUT = Path(__file__).resolve().parents[1]
SOURCE = "source bin/setup; install requirements.txt; write_client"

# The source package carries the modules, and has no bin/setup beside it.
if (CHECKOUT / "bin" / "setup").exists():
    # What pip sets for its build environment would hide the packages of .venv.
    outside = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    subprocess.run(["bash", "-euc", SOURCE], cwd=CHECKOUT, env=outside, check=True)
setup()
