"""Whether a text forbids, describes or detects a dangerous phrase instead of advising it.

Only what stands in the sentence of the phrase and governs it counts: `never forget to run
sudo` and `never use pip, use sudo pip` advise it all the same.
"""

from __future__ import annotations

import re
from functools import cache

from common.text.danger.phrases import SENTENCE_END
from common.text.danger.word_tables import read_lines

# Words that forbid what follows them: `rule` an action, `noun` the next words, `refusal`
# and `absence` what they name. `fact` says what does not happen.
_NEGATOR = re.compile(
    r"\b(?:(?P<rule>never|do not|don't|dont|must not|mustn't|should not"
    r"|shouldn't|may not|not to|nobody (?:may|should|can)|no one (?:may|should|can)"
    r"|nor|neither|no longer|not|niemals|nie|nicht|keinesfalls|jamais|nunca|mai|nooit"
    r"|nigdy|aldrig|niet|asla|sakin)"
    r"|(?P<fact>does not|doesn't|can not|cannot|can't|cant|will not|won't|wont|is not|are not|isn't"
    r"|aren't)"
    r"|(?P<noun>no|kein|keine|keinen)"
    r"|(?P<refusal>avoid(?:s|ed|ing)?|refus(?:e|es|ing)|reject(?:s|ing)?|forbids?"
    r"|prohibit(?:s|ing)?|bans?|disallows?|block(?:s|ing)?|den(?:y|ies)"
    r"|prevent(?:s|ing)?|prefer[^.;\n]{1,60} over|refrain from"
    r"|beware of|stay away from|keep away from|stop using|get rid of|guard(?:s)? against"
    r"|protect(?:s)? against|remove|removes|removing|removed|drop|dropped|retired|abandoned|strip|strips|delete any|replace"
    r"|replaces|replacing|replaced|revert|undo|vermeide|verbiete"
    r"|evite[rz]?|evita|vermijd|unikaj|undvik)"
    r"|(?P<absence>instead of|rather than|in place of|without|no need for|unlike|free of|against"
    r"|ohne|sans|sin|senza|sem|zonder|bez|utan))\b"
)
_MEANS = re.compile(r"\b(?:with|by|using|via|through)\b")
_UNSPACED_NEGATOR = re.compile(
    "不要|不得|禁止|切勿|绝不|請勿|请勿|不可|不能|勿|别|避免|しないで|しない|禁止|避け|하지 마|금지"
)
# Words behind which a negation does not reach.
_RESET_WORDS = (
    "but|except|unless|otherwise|when|whenever|if|while|since|because|until|only|always"
    "|instead,|so that|where|whereas|although|though|after which|hence|therefore|thus"
)
_CONSEQUENCE = re.compile(r"[,;] (?:and )?(?:so\b(?! that)|that is why\b)")
# A colon after these words introduces what they forbid.
_ANNOUNCES = re.compile(
    r"(?:\b(?:(?:this|these|following|any of|those|ever|avoid|forbidden|banned|blocked|prohibited"
    r"|refused|not allowed|not permitted)\b[\w ,'-]{0,30}"
    r"|(?:never|do not|don't|must not)(?: (?:run|use|type|execute|call|pass|add|do|commands?"
    r"|options?|flags?|any|of|the|such|one|here|in|on|ci)){0,6})|\bnot|\bno) ?: ?$"
)
_COLON = re.compile(r": ")
_SUBORDINATE = re.compile(
    r"\b(?:if|when|whenever|while|since|because|although|though|once|until|as soon as"
    r"|unless|where|wherever|before|after)\b[^,]{2,160},"
)
_RESET = re.compile(
    rf"\b(?:{_RESET_WORDS})\b|(?:(?:[,:]\s)?\b(?:and|then|so)\b,?|[,:]|\s--?\s)\s?"
    r"(?:(?:then|just|simply|instead|rather|please|you (?:can|should|must|may)|and|to)\s){0,2}"
    r"(?P<verb>[a-z]{2,20})\b"
)

# What may stand after a phrase that is not advised.
_REFUSED = (
    "refused|forbidden|prohibited|banned|rejected|blocked|denied|disallowed|disabled"
    "|unsupported|a (?:security )?(?:finding|violation|red flag|smell|risk)|unavailable|unnecessary|unneeded|unsafe|dangerous|off[ -]limits|a last resort"
    "|wrong|a mistake|a bug|an error|a smell|harmful|risky|too broad|deprecated|removed"
    "|no option|no fix|no answer|no solution|not an? (?:option|fix|answer|solution|substitute)"
    "|(?:not|never) (?:allowed|permitted|needed|required|necessary|available|installed"
    "|supported|used|acceptable|ok|okay|safe|enough|set|passed|appropriate|advised"
    "|recommended|accepted|an? \\w{1,12}|the (?:answer|fix|solution|way))"
    "|policy violations?|against (?:policy|the rules|our rules)"
)
_AFTER = re.compile(
    r"[^.!?;\n]{0,60}?\b(?:(?:is|are|was|were|be|gets?|being|stays?|remains?|counts? as|has been"
    rf"|have been) (?:always |strictly |explicitly |currently )?(?:{_REFUSED})\b"
    r"|(?:must|should|may|can|shall|will|does|do) (?:not|never)\b|mustn't\b|shouldn't\b|cannot\b"
    r"|can't\b|won't\b|doesn't\b|(?:fails?|breaks?|bypass(?:es)?|defeats?|destroys?|hides?"
    r"|masks?|voids?|violates?|weakens?|loses?|ruins?|deletes?|(?:raises?|triggers?|emits?|causes?|produces?) (?:an? )?\w{0,40}(?:warning|error|alert|finding|failure)|is refused)\b)"
)
_QUOTED = re.compile(r'"[^"\n]{1,40}"')
_AFFIRMS = re.compile(
    r"\bnot (?:a problem|an issue|a risk|forbidden|dangerous|prohibited|harmful|risky|wrong"
    r"|refused|blocked|bad)\b|\bnever (?:a problem|forbidden|wrong|fails?|blocked|refused)\b"
    r"|\b(?:must|should|can|may|do|does|will) (?:not|never) be (?:removed|omitted|skipped|dropped"
    r"|forgotten|left|missing|questioned|avoided|undone|reverted)\b|\b(?:doesn't|does not|never"
    r"|won't|can't|cannot|will not) (?:fail|hurt|matter|harm|break|need|ask|require|complain|prompt)\b"
)
# Words for texts about a phrase, and for programs that look for it.
_MENTION = re.compile(
    r"\b(?:documents?|(?<!run )(?<!execute )(?<!for )test_\w{1,60}|documented|documenting|describes?|described|describing|explains?"
    r"|(?:section|chapter|paragraph|note|article|example|question)s? (?:on|about|for|of|named|titled)"
    r"|explained|explaining|mentions?|mentioned|mentioning|covers?|covered by|covering|asserts?"
    r"|asserting|tests? (?:that|for|of|whether|how|the)|a test|the tests? (?:for|of|named|called)"
    r"|checks? (?:that|for|whether)|verif(?:y|ies) that|ensures? that|faq|docs|documentation"
    r"|readme|changelog|glossary|manual|help text|tutorial|comment|the word|the string"
    r"|the literal|the term|the phrase|named|called|defines|declares?|implements?|parses?|parsing|the parser|tokeni[sz]es?"
    r"|the regex|the pattern|escapes?|renders?|highlights?|translates?|spell\w{0,4}|rename"
    r"|the help of|the help for|usage line|fixture|snapshot|mock(?:s|ed)?|stub(?:s|bed)?"
    r"|handles?|supports?|validates?|option|argument parser|argparse|click|audit(?:s|ed)?)\b"
)
_DETECTION = re.compile(
    r"\b(?:detects?|detecting|flags?|flagged|flagging|scans? (?:for|the)|lints? for|catches"
    r"|warns? (?:about|on|against|when|if)|alerts? (?:on|when|if)|search(?:es)?(?: [\w ]{1,30})? for|look(?:s)? for"
    r"|grep[\w ]{0,30} for"
    r"|grep (?:for|the)|fails? (?:the build|ci|the pipeline|on|if|when)|reports? (?:any|every|each|uses?"
    r"|usages?)|denylist|blocklist|deny list|block list|refuses|rejects|blocks|forbids"
    r"|prohibits|prevents|disallows|treat\w{0,3} [^.;\n]{1,60} as (?:a )?(?:attack|dangerous|finding"
    r"|violation|red flag|secret)|red flags?|attackers?|malicious|(?:aborts?|stops?|exits?|errors?|complains?) (?:if|when|on|as soon as)|injection test|threat model)\b"
)
_OBSERVATION = re.compile(
    r"\b(?:log|logs|error|message|output|traceback|stderr|stdout|console|terminal|warning|hint"
    r"|installer|script|tool|command|build|step|page|readme|instruction|instructions|it|someone"
    r"|user|answer|agent|model|reviewer|ticket|issue|mail)s? (?:\w{1,12} )?(?:says?|said|prints?|printed|shows?|showed"
    r"|complains?|reads?|suggests?|suggested|asks? (?:you )?(?:for|to)|asked (?:for|to)|wants?|tells? you"
    r"|requires?|demands?|proposes?|recommends?|insists?)\b"
)
# What stands after a phrase that the text is about.
_IS_ABOUT = re.compile(
    r"[\w ,'\"`()-]{0,40}?\b(?:is|are) (?:(?:covered|documented|described|explained|tested"
    r"|mentioned)\b|for (?:your own|an?)(?: own)? (?:scratch|throwaway|disposable|temporary"
    r"|private|personal|local)(?: \w{1,12}){1,3} only\b)"
    r"|[\"'`]? (?:(?:appears?|occurs?|stands?)|is (?:used|set|allowed)) only (?:in|by) [\w./-]{0,40}tests?\b"
)
# An option in a condition: `unless --force is given`.
_CONDITION = re.compile(
    r"\b(?:if|unless|when|whenever) (?:the )?(?:option|flag|setting|switch)? ?[\"']?$"
)
_IS_GIVEN = re.compile(r"[\"']? (?:is|was) (?:given|passed|set|used|present)\b")
_ASK_FIRST = re.compile(
    r"(?<!without )(?<!not )(?<!never )(?<!don't )(?<!to )\b(?:(?:ask|asks|asking|confirm with"
    r"|check with) (?:\w{1,12} ){0,3}(?:user|owner|human|person|operator|maintainers?|team"
    r"|reviewer|lead|admin|someone|first|approval|permission|confirmation)"
    r"|(?:wait|waits|waiting) for (?:\w{1,12} ){0,3}(?:approval|permission|confirmation"
    r"|consent|sign-off)|(?:get|obtain|request|require|requires|needs?|with|only after|after)"
    r" (?:\w{1,12} ){0,3}(?:approval|confirmation|consent|sign-off))\b"
    r"|\b(?:stop and (?:ask|report|escalate)|report it instead|confirm first|ask first"
    r"|ask before)\b"
)
_DUTY = re.compile(
    r"\b(?:must|should|always|have to|has to|need to|you can|so run|then run|and run|to run"
    r"|simply|just)\b"
)
# Kinds that nobody needs to name in full to describe them.
UNMENTIONABLE = frozenset(
    {
        "pipe_to_shell",
        "foreign_order",
        "exfiltration",
        "secret_exposure",
        "hidden_failure",
        "package_source",
        "foreign_url",
        "encoded_text",
        "approve_unasked",
    }
)
MAX_BEFORE, MAX_AFTER = 240, 140


def is_advised(text: str, start: int, end: int, kind: str) -> bool:
    """Whether the text gives the phrase as advice."""
    before = SENTENCE_END.split(text[max(0, start - MAX_BEFORE) : start])[-1]
    before = _CONSEQUENCE.split(before)[-1]
    after = SENTENCE_END.split(text[end : end + MAX_AFTER], maxsplit=1)[0]
    if _is_forbidden(before) or _is_refused(after):
        return False
    if _is_detected(before):
        return False
    if _ASK_FIRST.search(before) or _ASK_FIRST.search(after):
        return kind in UNMENTIONABLE
    return not (_is_mentioned(before, after) and _is_mentionable(kind, text[start:end]))


def is_reversed(text: str, start: int) -> bool:
    """Whether two negations stand before the phrase: `never forget to`."""
    before = SENTENCE_END.split(text[max(0, start - MAX_BEFORE) : start])[-1]
    found = _NEGATOR.search(before)
    return found is not None and _is_double(before[found.end() :])


def _is_mentionable(kind: str, phrase: str) -> bool:
    return kind not in UNMENTIONABLE or (
        kind == "pipe_to_shell" and "://" not in phrase
    )


def _is_mentioned(before: str, after: str) -> bool:
    if _OBSERVATION.search(before):
        return True
    if _CONDITION.search(before) and _IS_GIVEN.match(after):
        return True
    found = _MENTION.search(before)
    if found:
        return not _DUTY.search(before, found.end())
    return _IS_ABOUT.match(after) is not None


def _is_detected(before: str) -> bool:
    return _DETECTION.search(before) is not None


def _is_refused(after: str) -> bool:
    after = _QUOTED.sub('""', after)
    found = _AFTER.match(after)
    if not found or _AFFIRMS.search(after):
        return False
    passed = after[: found.end()]
    return not re.search(
        rf"(?:^|[\s,])(?:{_RESET_WORDS}|and|then|so|which|that|who)\b|[,:]", passed
    )


def _is_forbidden(before: str) -> bool:
    """Whether a negation before the phrase reaches it."""
    if not before.isascii() and _UNSPACED_NEGATOR.search(before[-20:]):
        return True
    reach = before[_last_reset(before) :]
    negators = list(_NEGATOR.finditer(reach))
    if len(negators) > 1 and _is_double(reach[negators[0].end() :]):
        return False
    for found in reversed(negators):
        rest = reach[found.end() :]
        if _is_double(rest):
            return False
        if _governs(found, rest):
            return True
    return False


def _governs(negator: re.Match[str], rest: str) -> bool:
    """Whether a negation reaches a phrase that `rest` separates from it."""
    words = re.findall(r"[\w'-]+", rest)
    has_means = _MEANS.search(rest) is not None
    match negator.lastgroup:
        case "refusal":
            return len(words) <= 8
        case "absence":
            return len(words) <= 4 and not has_means
        case "noun":
            return len(words) <= 2 and not has_means
        case "fact":
            return len(words) <= 1 or (
                len(words) <= 5 and not _use_verbs().isdisjoint(words[:2])
            )
    return len(words) <= 1 or has_means or not _use_verbs().isdisjoint(words[:4])


def _is_double(words: str) -> bool:
    return _double_verb().search(words) is not None


def _last_reset(before: str) -> int:
    """Return where the last clause begins that a negation before it does not reach.

    A conjunction with a verb begins a clause, unless it joins two verbs: `copy and paste`.
    """
    place = max((found.end() for found in _SUBORDINATE.finditer(before)), default=0)
    for found in _COLON.finditer(before, place):
        if not _announces(before[: found.end()]):
            place = found.end()
    for found in _RESET.finditer(before, place):
        if not found["verb"]:
            place = found.end()
        elif found["verb"] in _use_verbs():
            words = before[: found.start()].split()
            if not words or words[-1] not in _use_verbs():
                place = found.start("verb")
    return place


def _announces(before: str) -> bool:
    """Whether a text that ends with a colon forbids what follows."""
    return bool(_ANNOUNCES.search(before)) and not _AFFIRMS.search(before)


@cache
def _use_verbs() -> frozenset[str]:
    return frozenset(read_lines("use_verbs"))


@cache
def _double_verb() -> re.Pattern[str]:
    words = "|".join(sorted(map(re.escape, read_lines("double_verbs"))))
    return re.compile(rf"\b(?:{words})\b")
