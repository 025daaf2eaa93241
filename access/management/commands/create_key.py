from __future__ import annotations

import argparse
from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from access import keys
from common import errors
from common.caller import SYSTEM, Role
from projects import project_lookup

ROLES = {role.label: role for role in Role}


class Command(BaseCommand):
    help = "Create an API key and print it; it cannot be displayed again."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--role", choices=ROLES, default="writer")
        parser.add_argument(
            "--project",
            action="append",
            default=[],
            help="name or id; repeat it for several; without it the key is for all",
        )
        parser.add_argument("--expires", type=int, metavar="DAYS")
        parser.add_argument("--agent-id", default="")
        parser.add_argument("--user-id", default="")
        parser.add_argument(
            "--may-attest",
            action="store_true",
            help="the project believes this key's reports of tests and facts",
        )
        parser.add_argument(
            "--acts-for-users",
            action="store_true",
            help="the key writes profile and soul of every user",
        )
        parser.add_argument("--name", default="made by create_key")

    def handle(self, *args: Any, **options: Any) -> None:
        days = options["expires"]
        try:
            issued = keys.issue(
                name=options["name"],
                role=ROLES[options["role"]],
                projects=[
                    project_lookup.find_project(p, SYSTEM) for p in options["project"]
                ],
                agent_id=options["agent_id"],
                user_id=options["user_id"],
                may_attest=options["may_attest"],
                acts_for_users=options["acts_for_users"],
                expires_at=timezone.now() + timedelta(days=days) if days else None,
            )
        except errors.Refusal as refusal:
            fields = [f"{name}: {' '.join(m)}" for name, m in refusal.errors.items()]
            raise CommandError(" ".join([refusal.detail, *fields])) from refusal
        self.stdout.write(issued.secret)
