"""Run one job in a process of its own.

The command is `python -m benchmarks.product.one_job ID`.
"""

from __future__ import annotations

import os
import sys
import uuid


def main(job_id: uuid.UUID) -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memory_project.settings")
    import django  # only now, because the line above names the settings

    django.setup()
    from celery import current_app

    from jobs import runner

    # Let every app register its job kinds, as a worker does.
    current_app.loader.import_default_modules()
    runner.run(job_id)


if __name__ == "__main__":
    main(uuid.UUID(sys.argv[1]))
