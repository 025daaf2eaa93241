"""Give the org rows that name the organization by its slug or name the scope of its id."""

from __future__ import annotations

from django.db import IntegrityError, migrations, transaction

from memories.scopes import Scope


def name_by_id(apps, schema_editor):
    rows = apps.get_model("memories", "Memory").objects.filter(scope_kind="org")
    for organization in apps.get_model("projects", "Organization").objects.all():
        of_organization = rows.filter(organization_id=organization.pk)
        own = Scope("org", str(organization.pk))
        named = of_organization.exclude(scope_key=own.key).only("pk", "scope_key")
        for row in named.order_by("pk").iterator():
            if row.scope_key.strip().casefold() not in (
                organization.slug,
                organization.name.casefold(),
            ):
                continue
            # A row stays where it is if another one there has the same text or key.
            try:
                with transaction.atomic():
                    rows.filter(pk=row.pk).update(**own.columns)
            except IntegrityError:
                continue


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("memories", "0003_one_spelling")]
    operations = [migrations.RunPython(name_by_id, migrations.RunPython.noop)]
