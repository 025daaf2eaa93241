"""What a person does to a run on its page."""

from __future__ import annotations

from ace import run as runs
from ace.models import AceRun
from common.caller import Caller, Role
from common.deeds import Deed
from playbook import reverting
from playbook.reverting import Reverted


def _revert(run: AceRun, caller: Caller, typed: str) -> Reverted:
    target = reverting.run(run.project, run.pk, caller)
    return reverting.revert(run.project, target, caller, reason=typed)


REVERT = Deed(
    "revert",
    "Take back what it changed",
    Role.CURATOR,
    _revert,
    "its changes of the playbook are taken back",
    fits=lambda run: run.state != AceRun.State.RUNNING,
    asks="Why",
)
RESUME = Deed(
    "resume",
    "Resume",
    Role.WRITER,
    lambda run, caller, text: runs.resume(run, caller),
    "resumed; its phases tell how far it came",
    fits=lambda run: run.state != AceRun.State.DONE,
)
EVERY = [REVERT, RESUME]
