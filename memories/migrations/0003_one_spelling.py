"""Write the paths of files, tags and keys as `common.text` now writes them."""

from __future__ import annotations

from typing import Any

from django.db import migrations
from django.db.models import Exists, OuterRef

from common.text.paths import clean_path

# Of two current rows of a scope whose keys become one, the later stays as it is, because one of
# both would be hidden. A few letters are longer in NFC; a name without room stays as well.
NAMES = """
UPDATE memories_memory SET tags = ARRAY(
    SELECT CASE WHEN char_length(normalize(tag, NFC)) > 64 THEN tag
                ELSE normalize(tag, NFC) END
    FROM unnest(tags) WITH ORDINALITY AS each (tag, place)
    GROUP BY 1 ORDER BY min(place)
)
WHERE EXISTS (SELECT FROM unnest(tags) AS tag WHERE tag IS NOT NFC NORMALIZED);

DELETE FROM memories_tag AS tag
WHERE name IS NOT NFC NORMALIZED AND EXISTS (
    SELECT FROM memories_tag AS other
    WHERE other.project_id = tag.project_id AND other.id <> tag.id
      AND normalize(other.name, NFC) = normalize(tag.name, NFC)
      AND (other.name IS NFC NORMALIZED OR other.id < tag.id)
);
UPDATE memories_tag SET name = normalize(name, NFC)
WHERE name IS NOT NFC NORMALIZED AND char_length(normalize(name, NFC)) <= 64;

UPDATE memories_memory AS memory SET key = normalize(key, NFC)
WHERE key IS NOT NFC NORMALIZED AND char_length(normalize(key, NFC)) <= 255 AND NOT (
    superseded_by_id IS NULL AND deleted_at IS NULL AND archived_at IS NULL
    AND NOT is_duplicate AND EXISTS (
        SELECT FROM memories_memory AS other
        WHERE other.project_id = memory.project_id AND other.id <> memory.id
          AND other.scope_hash = memory.scope_hash
          AND other.superseded_by_id IS NULL AND other.deleted_at IS NULL
          AND other.archived_at IS NULL AND NOT other.is_duplicate
          AND normalize(other.key, NFC) = normalize(memory.key, NFC)
          AND (other.key IS NFC NORMALIZED OR other.id < memory.id)
    )
);
"""

ODD_PATHS = r"""
SELECT id FROM memories_file
WHERE file_path IS NOT NFC NORMALIZED
   OR file_path ~ '\\|//|(^|/)\.\.?(/|$)|^[Ff][Ii][Ll][Ee]:|^/?[A-Za-z]:'
ORDER BY id
"""


def clean_paths(apps: Any, schema_editor: Any) -> None:
    """Rename each file with an odd path, or move its links to the file of the clean path."""
    file, link = (apps.get_model("memories", name) for name in ("File", "MemoryFile"))
    for odd in file.objects.raw(ODD_PATHS):
        path = clean_path(odd.file_path) or odd.file_path
        twin = file.objects.filter(project_id=odd.project_id, file_path=path)
        if twin.filter(pk=odd.pk).exists():
            continue
        if target := twin.first():
            same = {name: OuterRef(name) for name in ("memory", "relation_type")}
            taken = link.objects.filter(file=target, **same)
            link.objects.filter(~Exists(taken), file=odd).update(file=target)
            odd.delete()
        else:
            file.objects.filter(pk=odd.pk).update(file_path=path)


class Migration(migrations.Migration):
    dependencies = [("memories", "0002_hash_compared_text")]

    operations = [
        migrations.RunSQL(NAMES, migrations.RunSQL.noop),
        migrations.RunPython(clean_paths, migrations.RunPython.noop),
    ]
