from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from inference.embedding import active_model, embedder, reembed
from inference.errors import InferenceError


class Command(BaseCommand):
    help = (
        "Make new vectors with the configured model, in the background. Searches use the "
        "old ones until the new ones are complete."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            old, new = active_model.get().name, embedder.from_settings().name
        except InferenceError as error:
            raise CommandError(str(error)) from error
        job = reembed.start()
        change = f"From {old} to {new}" if old != new else f"{new} stays"
        self.stdout.write(
            f"{change}: job {job.pk}, {job.state}. Follow it with GET /api/v1/jobs/{job.pk} "
            "or in the admin."
        )
