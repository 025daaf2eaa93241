from __future__ import annotations

from django.db import migrations, models

# A key that another key issued has the name of that key's caller in `created_by`.
FILL_ROOT_LINES = """
UPDATE access_apikey SET root_line_id = line_id;

WITH RECURSIVE issued (line_id, root_line_id) AS (
    SELECT id, id FROM access_apikey AS first
    WHERE line_id = id AND NOT EXISTS (
        SELECT FROM access_apikey AS issuer
        WHERE 'key:' || issuer.prefix = first.created_by AND issuer.id < first.id
    )
    UNION
    SELECT first.id, issued.root_line_id
    FROM issued
    JOIN access_apikey AS issuer ON issuer.line_id = issued.line_id
    JOIN access_apikey AS first
        ON first.created_by = 'key:' || issuer.prefix AND issuer.id < first.id
    WHERE first.line_id = first.id
)
UPDATE access_apikey SET root_line_id = issued.root_line_id
FROM issued WHERE access_apikey.line_id = issued.line_id
"""


class Migration(migrations.Migration):
    dependencies = [("access", "0004_each_key_has_a_line")]

    operations = [
        migrations.AddField(
            "apikey", "root_line_id", models.UUIDField(editable=False, null=True)
        ),
        migrations.RunSQL(FILL_ROOT_LINES, migrations.RunSQL.noop),
    ]
