"""A migration operation that drops the index of a foreign key and changes nothing else."""

from __future__ import annotations

from typing import Any

from django.db import migrations
from django.db.models import Index


class DropFkIndex(migrations.AlterField):
    """Alter a field to `db_index=False`.

    Django's `AlterField` recreates the constraint, which locks and reads both tables.
    """

    def database_forwards(
        self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any
    ) -> None:
        model = from_state.apps.get_model(app_label, self.model_name)
        field = model._meta.get_field(self.name)
        for name in schema_editor._constraint_names(
            model,
            [field.column],
            index=True,
            type_=Index.suffix,
            exclude={index.name for index in model._meta.indexes},
        ):
            schema_editor.execute(schema_editor._delete_index_sql(model, name))

    def database_backwards(
        self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any
    ) -> None:
        model = to_state.apps.get_model(app_label, self.model_name)
        field = model._meta.get_field(self.name)
        schema_editor.execute(schema_editor._create_index_sql(model, fields=[field]))
