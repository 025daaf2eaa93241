"""How a person types a command of `am` on this machine. Standard library only."""

from __future__ import annotations

import sys
from pathlib import Path

NAME = "am"
CHECKOUT_SCRIPT = Path(__file__).resolve().parents[2] / "bin" / NAME


def spell(arguments: str) -> str:
    """Write a command in backquotes: with `am` if the PATH has this one, or with its path."""
    import shlex  # a hook imports this module, and has no time for these two
    import shutil

    script = find_script()
    on_path = shutil.which(NAME)
    is_on_path = script is None or (on_path and Path(on_path).samefile(script))
    return f"`{NAME if is_on_path else shlex.quote(str(script))} {arguments}`"


def find_script() -> Path | None:
    """Return the script that runs this program: the checkout's, or that of a package."""
    if CHECKOUT_SCRIPT.is_file():
        return CHECKOUT_SCRIPT
    called = Path(sys.argv[0]).absolute()
    return called if called.name == NAME and called.is_file() else None
