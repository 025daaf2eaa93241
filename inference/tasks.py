"""Celery tasks of the models."""

from __future__ import annotations

from celery import shared_task

from inference.embedding import missing_vectors


@shared_task
def embed_missing() -> None:
    """Find the texts without a vector that no job will embed, and enqueue one."""
    missing_vectors.enqueue_missing()
