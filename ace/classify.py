"""Which of the six memory types a text is, by whole words and outcome."""

from __future__ import annotations

import re
from typing import Literal

from ace.task import Task

MemoryType = Literal[
    "error_fix", "discovery", "decision", "learning", "warning", "codebase_knowledge"
]

# The question stands at the start of a goal; boilerplate and code follow.
MAX_GOAL = 1_200
MAX_TEXT = 6_000


def _words(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w-])(?:{pattern})(?![\w-])", re.IGNORECASE)


# Said of trouble that is not there: "0 errors", "no warnings", "error-free".
_ABSENT = _words(
    r"(?:0|no|zero|without(?: any)?|free of|any) (?:known |new |further )?"
    r"(?:errors?|bugs?|issues?|failures?|warnings?|problems?|regressions?|crashes)"
    r"|error[- ](?:free|handling|handler|handlers|message|messages|codes?|pages?)"
    r"|bug[- ](?:free|reports?|tracker)|issue[- ]tracker|fixed[- ](?:width|size|price"
    r"|length|point|cost)|crash[- ]course|(?:not|never) (?:a|an) (?:bug|error|issue)"
)
_FIX_GOAL = _words(
    r"fix|fixes|fixing|fixed|hotfix|bugfix|debug|debugging|repair|resolve|resolving"
    r"|patch|unbreak|troubleshoot|(?:solving|solve) (?:the following |this |an? )?issue"
)
_TROUBLE = _words(
    r"bugs?|errors?|exceptions?|crash(?:es|ed|ing)?|fails|failing|failed|failures?"
    r"|broken|breaks|traceback|regressions?|flaky|deadlocks?|(?:memory )?leaks?"
    r"|stack ?trace|wrong result|doesn't work|does not work|not working|stopped working"
    r"|incorrect(?:ly)?"
)
_FIXED = _words(
    r"fixed|resolved|repaired|patched|corrected|fix(?:es)? (?:the|a|this|an)"
    r"|(?:the|this|a) fix|solved|now (?:works|passes|pass)|no longer (?:fails|crashes)"
)
_WARNING = _words(
    r"warning|caution|beware|careful|danger(?:ous)?|do not|don't|never|must not"
    r"|avoid|deprecated|insecure|vulnerab(?:le|ility|ilities)|data loss|risky|watch out"
    r"|unsafe|pitfall|gotcha|breaking change"
)
_DECISION = _words(
    r"decid(?:e|ed|ing)|decisions?|chose|choose|choosing|chosen|opted|opt for|adopt(?:ed)?"
    r"|trade-?offs?|settled on|picked|agreed (?:on|to)|ADR|we will use|went with"
    r"|standardi[sz]e on|prefer(?:red)?"
)
_DISCOVERY = _words(
    r"discover(?:ed|y|ies)?|found (?:out|that)|turns out|turned out|investigat(?:e|ed|ing"
    r"|ion)|root cause|identified|reveal(?:s|ed)|noticed|research(?:ed)?|explor(?:e|ed"
    r"|ing)|profil(?:e|ed|ing)|analy[sz](?:e|ed|ing)|analysis|figured out|measured"
    r"|diagnos(?:e|ed|is)|undocumented|actually (?:uses|returns|is)"
)
_CODEBASE = _words(
    r"explain|document(?:ed|ing)?|understand|where (?:is|are|does|do)"
    r"|how (?:does|do|is|are)|overview|walk ?through|architecture|structure of|code ?base"
    r"|repository layout|(?:is|are) (?:located|defined|implemented|stored) in"
    r"|lives in|live in|entry ?point|module(?:s)? (?:is|are|that)|depends on|consists of"
    r"|is responsible for|map (?:of|the)|summari[sz]e the (?:code|module|repo\w{0,10})"
    r"|diagram|(?:lives|live|sits) under"
)
_CODE_NOUN = _words(
    r"code|code ?base|repo(?:sitory)?|modules?|files?|functions?|class(?:es)?|methods?"
    r"|services?|packages?|API|database|schema|tables?|architecture|systems?|components?"
    r"|endpoints?|pipelines?|structure|layout|config(?:uration)?|settings|entry ?points?"
    r"|project|apps?|layers?|tests?|handlers?|middleware|routes?|models?"
)
_CHANGE_GOAL = _words(
    r"add|implement|create|build|write|refactor|rename|migrate|upgrade|remove|update"
    r"|support|introduce|extend|convert|port|optimi[sz]e|improve"
)


def memory_type(task: Task, outcome: str) -> MemoryType:
    """Classify a finished task; a fix that did not hold is a warning."""
    goal = _plain(task.goal[:MAX_GOAL])
    said = _plain(f"{task.result[:MAX_TEXT]}\n{task.feedback[:MAX_TEXT]}")
    if outcome == "failure":
        return "warning"
    if not _is_prose(goal):
        return "learning"
    if _is_fix(goal, said):
        return "error_fix"
    if _DECISION.search(goal):
        return "decision"
    if _asks_about_code(goal):
        return "codebase_knowledge"
    if _DISCOVERY.search(goal):
        return "discovery"
    return _by_what_was_said(said) if _is_prose(task.result) else "learning"


def classify_text(content: str) -> MemoryType:
    """Classify a text that stands alone: a fact, an episode, a note."""
    text = _plain(content[:MAX_TEXT])
    if _FIXED.search(text) and (_TROUBLE.search(text) or _FIX_GOAL.match(text)):
        return "error_fix"
    if _WARNING.search(text):
        return "warning"
    return _by_what_was_said(text)


def _plain(text: str) -> str:
    return _ABSENT.sub(" ", text)


def _is_fix(goal: str, said: str) -> bool:
    if _FIX_GOAL.search(goal):
        return True
    return bool(_TROUBLE.search(goal) and _FIXED.search(said))


def _asks_about_code(goal: str) -> bool:
    asks = _CODEBASE.search(goal) and not _CHANGE_GOAL.match(goal.lstrip())
    return bool(asks and _CODE_NOUN.search(goal))


def _by_what_was_said(text: str) -> MemoryType:
    if _DECISION.search(text):
        return "decision"
    if _DISCOVERY.search(text):
        return "discovery"
    if _TROUBLE.search(text) and _FIXED.search(text):
        return "error_fix"
    if _CODEBASE.search(text):
        return "codebase_knowledge"
    return "learning"


_CODE = re.compile(r"^(?:def |fn |pub fn |class |use |import |from |diff --git|--- a/)",
                   re.MULTILINE)  # fmt: skip


def _is_prose(text: str) -> bool:
    """Words inside code decide nothing: a comment's "choose" is no decision."""
    return not _CODE.search(text[:MAX_TEXT])
