"""Propose what a person says that they want from now on.

It waits for a curator, as every wish does. Until then only the person's own agents are given it
(`mcp_server.hooks.known_wishes`).
"""

from __future__ import annotations

from dataclasses import replace

from ace.reflect.by_rules import RuleFindings
from ace.reflect.repeated_wishes import CONFIDENCE
from ace.rules import evidence as spans
from ace.rules.feedback import lasting_requests
from ace.rules.feedback.directives import Directive
from ace.rules.task import Task
from ace.rules.task_lesson import TaskLesson, is_sound
from playbook.proposals.proposed_change import LASTING_SIGNATURE


def learn(task: Task, findings: RuleFindings) -> RuleFindings:
    """Add a lesson for each sentence of the prompt that says by itself that it lasts."""
    found = [_lesson(each) for each in lasting_requests.find(task)]
    lessons = [
        lesson
        for lesson in found
        if is_sound(lesson.content, [spans.quote(task, *lesson.evidence)])
    ]
    if not lessons:
        return findings
    return replace(findings, lessons=[*findings.lessons, *lessons], abstention="")


def _lesson(request: Directive) -> TaskLesson:
    span = spans.make(
        "wish", lasting_requests.FIELD, request.start, request.end, request.sentence
    )
    return TaskLesson(
        condition="",
        action=request.content.rstrip("."),
        content=request.content,
        category="best_practices",
        root_cause="PREFERENCE",
        evidence=(span,),
        signature=f"{LASTING_SIGNATURE}{request.content.casefold()}",
        confidence=CONFIDENCE,
        reason="The person said that it holds from now on.",
    )
