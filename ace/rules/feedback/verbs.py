"""Verbs of working instructions, in the forms that people wish and praise with."""

from __future__ import annotations

from ace.rules.word_tables import split_words

# Verbs that a person begins an instruction with. "Have", "see", "know" tell a story.
BASE_VERBS = split_words(
    "accept add agree align announce answer append apply approve archive ask assert "
    "assign attach avoid await back backup base batch begin bind block book bound branch "
    "break bring bump cache calculate call cancel cap capture cast catch change check "
    "choose cite clean clear close collect combine commit compare compile compute "
    "configure confirm connect consider consult contact continue convert copy correct "
    "count cover create credit cut declare decode default define delegate delete depend "
    "deploy describe disable discuss document double-check download draft drop duplicate "
    "edit email emit enable encode encrypt end enforce ensure escalate escape estimate "
    "exclude execute exit expect explain export expose extend extract fail fall fetch "
    "file fill filter find finish fix flag flush follow force force-push forget format "
    "freeze generate get give go greet group guard hand handle hard-code hash hide hold "
    "ignore implement import include increase indent index inform inject insert inspect "
    "install invalidate investigate invoke isolate issue iterate join keep label launch "
    "lay leave let limit link lint list load lock log look lower make map mark mask match "
    "measure mention merge migrate mock modify monitor mount move mute name nest note "
    "notify offer open order organise organize overwrite paginate parse pass paste patch "
    "pick pin ping place plan point poll pool post prefer prefix prepare preserve print "
    "prioritise prioritize process profile promise propose protect prove provide publish "
    "pull push put query quote raise read rebase rebuild recompute record reduce refactor "
    "refer reference reformat refresh refund refuse regenerate register reject release "
    "reload rely remember remind remove rename render repeat replace reply report "
    "reproduce request require rerun re-run reset resolve respect respond restart restore "
    "restrict retain retry return reuse reverse revert review rewrite roll rotate round "
    "route run sanitise sanitize save say scan schedule scope search seed select send "
    "separate serialise serialize set share ship show shut sign simplify skip sort "
    "specify split squash stage start state stay stick stop store stream structure "
    "submit subscribe suggest summarise summarize supply support surface switch sync tag "
    "take talk tell test throttle throw touch trace track train translate treat trim "
    "truncate trust try turn type undo unlock unpack unsubscribe update upgrade upload "
    "use validate verify version view wait walk warn watch wipe work wrap write "
    "apologise apologize cross-check introduce present spell cc loop involve escort enter visit save log double-quote reformat touch"
)
_IRREGULAR = dict(
    pair.split(":")
    for pair in [
        "began:begin",
        "bound:bind",
        "broke:break",
        "broken:break",
        "brought:bring",
        "caught:catch",
        "chose:choose",
        "chosen:choose",
        "fell:fall",
        "fallen:fall",
        "found:find",
        "forgot:forget",
        "forgotten:forget",
        "froze:freeze",
        "frozen:freeze",
        "got:get",
        "gave:give",
        "given:give",
        "went:go",
        "gone:go",
        "held:hold",
        "hid:hide",
        "hidden:hide",
        "kept:keep",
        "laid:lay",
        "left:leave",
        "made:make",
        "paid:pay",
        "ran:run",
        "rewrote:rewrite",
        "rewritten:rewrite",
        "said:say",
        "sent:send",
        "showed:show",
        "shown:show",
        "spelt:spell",
        "stuck:stick",
        "took:take",
        "taken:take",
        "talked:talk",
        "told:tell",
        "threw:throw",
        "thrown:throw",
        "undid:undo",
        "undone:undo",
        "went:go",
        "withdrew:withdraw",
        "wrote:write",
        "written:write",
        "chosen:choose",
        "overwrote:overwrite",
        "overwritten:overwrite",
        "reran:rerun",
        "rebuilt:rebuild",
        "understood:understand",
        "shut:shut",
        "split:split",
        "set:set",
        "put:put",
        "cut:cut",
        "let:let",
        "read:read",
        "reset:reset",
        "quoted:quote",
        "did:do",
    ]
)
_VOWELS = "aeiou"


def _doubles(verb: str) -> bool:
    """Short verbs double their last letter: `plan`, `planned`."""
    if len(verb) < 3 or verb[-1] in "aeiouwxyh" or verb[-2] not in _VOWELS:
        return False
    one_syllable = sum(char in _VOWELS for char in verb) == 1
    return (one_syllable and verb[-3] not in _VOWELS) or verb.endswith(
        ("refer", "submit", "commit", "prefer")
    )


def _past(verb: str) -> str:
    if verb.endswith("e"):
        return f"{verb}d"
    if verb.endswith("y") and verb[-2] not in _VOWELS:
        return f"{verb[:-1]}ied"
    return f"{verb}{verb[-1]}ed" if _doubles(verb) else f"{verb}ed"


def _gerund(verb: str) -> str:
    if verb.endswith("e") and not verb.endswith(("ee", "ye", "oe")):
        return f"{verb[:-1]}ing"
    return f"{verb}{verb[-1]}ing" if _doubles(verb) else f"{verb}ing"


def _third(verb: str) -> str:
    if verb.endswith(("s", "x", "ch", "sh", "o")):
        return f"{verb}es"
    if verb.endswith("y") and verb[-2] not in _VOWELS:
        return f"{verb[:-1]}ies"
    return f"{verb}s"


_PASTS = {_past(verb): verb for verb in sorted(BASE_VERBS)} | _IRREGULAR
_GERUNDS = {_gerund(verb): verb for verb in sorted(BASE_VERBS)}


def base_of_past(word: str) -> str | None:
    """`asked` is `ask`; None for what is no past of a known verb."""
    return _PASTS.get(word.lower())


def base_of_gerund(word: str) -> str | None:
    return _GERUNDS.get(word.lower())


def is_base(word: str) -> bool:
    return word.lower() in BASE_VERBS


def to_present(past: str) -> str | None:
    """`mentioned` is `mentions`."""
    verb = base_of_past(past)
    return _third(verb) if verb else None
