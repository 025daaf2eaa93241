from __future__ import annotations

from django.db import migrations

# A name that another project has already stays, because both would have one name.
NORMALISE = """
UPDATE projects_project AS project SET name = normalize(name, NFC)
WHERE name IS NOT NFC NORMALIZED AND NOT EXISTS (
    SELECT FROM projects_project AS other
    WHERE other.id <> project.id
      AND normalize(other.name, NFC) = normalize(project.name, NFC)
      AND (other.name IS NFC NORMALIZED OR other.id < project.id)
);
"""


class Migration(migrations.Migration):
    dependencies = [("projects", "0002_delete_review_settings")]

    operations = [migrations.RunSQL(NORMALISE, migrations.RunSQL.noop)]
