"""Run one job in its own process: `python -m benchmarks.product.one_job ID`."""

from __future__ import annotations

import os
import sys
import uuid


def main(job_id: uuid.UUID) -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memory_project.settings")
    import django  # the settings are read where they are named

    django.setup()
    from celery import current_app

    from jobs import runner

    # As in a worker: every app registers its job kinds.
    current_app.loader.import_default_modules()
    runner.run(job_id)


if __name__ == "__main__":
    main(uuid.UUID(sys.argv[1]))
