from __future__ import annotations

from django.db import migrations, models

RISK_RANK = models.Case(
    models.When(risk="high", then=0),
    models.When(risk="medium", then=1),
    models.When(risk="low", then=2),
    default=3,
    output_field=models.SmallIntegerField(),
)
QUOTES = models.Func(
    "evidence", function="jsonb_array_length", output_field=models.IntegerField()
)


class Migration(migrations.Migration):
    dependencies = [("playbook", "0004_anchors_of_entries")]

    operations = [
        migrations.AddIndex(
            model_name="playbookdelta",
            index=models.Index(
                models.F("project"),
                RISK_RANK,
                QUOTES.desc(),
                models.F("id"),
                condition=models.Q(status__in=["pending", "stale"]),
                name="delta_inbox",
            ),
        ),
        migrations.AddIndex(
            model_name="playbookdelta",
            index=models.Index(
                fields=["project", "-id"],
                condition=models.Q(status="rejected")
                & ~models.Q(payload__has_key="repeats"),
                name="delta_refused",
            ),
        ),
    ]
