#!/usr/bin/env python
from __future__ import annotations

import os
import sys
from pathlib import Path

import environ

from embedded import data_folder, servers, service_note, up

WITHOUT_SERVERS = {
    "help", "--help", "-h", "version", "--version", "collectstatic", "compilemessages",
    "diffsettings", "findstatic", "makemessages", "startapp",
}  # fmt: skip


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memory_project.settings")
    # As the settings do, so that servers named in .env are used here too.
    environ.Env.read_env(data_folder.BASE_DIR / ".env")
    command = sys.argv[1] if len(sys.argv) > 1 else "help"
    wants_help = {"-h", "--help"} & set(sys.argv[2:])
    try:
        if command == "up" and not wants_help:
            up.prepare(sys.argv[2:])
        elif command not in WITHOUT_SERVERS and not wants_help:
            servers.ensure(locate_data())
    except data_folder.EmbeddedError as error:
        sys.exit(str(error))
    # Imported only now: the servers and the web process need not wait for Django.
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)


def locate_data() -> Path:
    """Return the data folder of this command; name one that only a running service uses."""
    path = service_note.locate()
    if path != data_folder.locate():
        sys.stderr.write(f"Data: {path}, as the running service\n")
    return path


if __name__ == "__main__":
    main()
