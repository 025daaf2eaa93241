"""Hash the memories again: the goal and the mark at the end no longer count."""

from __future__ import annotations

from django.db import IntegrityError, migrations, transaction

from memories import searchable_text

BATCH = 1000


def hash_again(apps, schema_editor):
    rows = apps.get_model("memories", "Memory").objects.all().order_by("pk")
    last = None
    while batch := list((rows.filter(pk__gt=last) if last else rows)[:BATCH]):
        last = batch[-1].pk
        changed = []
        for row in batch:
            digest = searchable_text.similarity_hash(row)
            if digest != row.similarity_hash:
                row.similarity_hash = digest
                changed.append(row)
        try:
            with transaction.atomic():
                rows.model.objects.bulk_update(changed, ["similarity_hash"])
        except IntegrityError:
            _hash_each(changed)


def _hash_each(rows):
    """Leave a row with its old hash whose new hash another original has.

    The scan for duplicates finds the pair.
    """
    for row in rows:
        try:
            with transaction.atomic():
                row.save(update_fields=["similarity_hash"])
        except IntegrityError:
            continue


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("memories", "0001_initial")]
    operations = [migrations.RunPython(hash_again, migrations.RunPython.noop)]
