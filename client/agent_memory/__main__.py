"""The command `am`: hooks and the MCP bridge start without the packages of the rest."""

from __future__ import annotations

import sys
from pathlib import Path


def main() -> None:
    command, arguments = (sys.argv[1:2] or [""])[0], sys.argv[2:]
    if command == "hook" and not {"-h", "--help"} & set(arguments):
        from agent_memory import hook

        hook.main(arguments)
    elif command == "mcp" and not {"-h", "--help"} & set(arguments):
        from agent_memory import mcp

        mcp.main(arguments)
    else:
        try:
            from agent_memory import command_line
        except ModuleNotFoundError as error:
            if error.name not in ("httpx", "typer", "rich"):
                raise
            sys.exit('The command needs more packages: pip install "agent-memory[cli]"')
        command_line.main()


if __name__ == "__main__":
    if __package__ in (None, ""):
        # A harness runs this file by its path, so that no installation is needed.
        sys.path[0] = str(Path(__file__).resolve().parent.parent)
    main()
