from __future__ import annotations

import re
from typing import Any

from django.db import migrations, models


def flatten(apps: Any, schema_editor: Any) -> None:
    """Keep the MCP servers; a secret that a header named becomes an operator's variable."""
    tools = apps.get_model("agents", "AgentTool").objects.using(
        schema_editor.connection.alias
    )
    tools.exclude(kind="mcp").delete()
    for tool in tools.iterator():
        tool.url = tool.definition["url"]
        headers = tool.definition.get("headers") or {}
        tool.headers = {name: name_variables(value) for name, value in headers.items()}
        tool.save(update_fields=["url", "headers"])


def name_variables(header: str) -> str:
    return re.sub(
        r"\{secret:([\w.-]+)\}",
        lambda match: f"${{AGENT_TOOL_{re.sub(r'[^A-Z0-9]', '_', match[1].upper())}}}",
        header,
    )


class Migration(migrations.Migration):
    dependencies = [
        ("agents", "0001_initial"),
    ]

    operations = [
        migrations.AddField(
            model_name="agenttool",
            name="url",
            field=models.CharField(default="", max_length=2000),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name="agenttool",
            name="headers",
            field=models.JSONField(blank=True, default=dict),
        ),
        migrations.RunPython(flatten, migrations.RunPython.noop),
        migrations.RemoveField(model_name="agenttool", name="kind"),
        migrations.RemoveField(model_name="agenttool", name="arguments"),
        migrations.RemoveField(model_name="agenttool", name="definition"),
        migrations.DeleteModel(name="ToolSecret"),
    ]
