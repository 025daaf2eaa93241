from __future__ import annotations

from typing import Any

from django.db import migrations

# A line begins with a key that replaced none; each rotation adds the next key.
FILL_LINES = """
WITH RECURSIVE line (key_id, line_id, next_id) AS (
    SELECT id, id, replaced_by_id FROM access_apikey AS first
    WHERE NOT EXISTS (
        SELECT FROM access_apikey AS older WHERE older.replaced_by_id = first.id
    )
    UNION
    SELECT key.id, line.line_id, key.replaced_by_id
    FROM line JOIN access_apikey AS key ON key.id = line.next_id
)
UPDATE access_apikey SET line_id = line.line_id
FROM line WHERE access_apikey.id = line.key_id
"""


def fill(apps: Any, schema_editor: Any) -> None:
    schema_editor.execute(FILL_LINES)


class Migration(migrations.Migration):
    dependencies = [("access", "0002_attestation")]

    operations = [migrations.RunPython(fill, migrations.RunPython.noop)]
