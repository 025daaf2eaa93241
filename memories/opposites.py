"""Words that exclude each other: what one text says, the other denies.

A line is one choice and `/` parts its sides. Two texts disagree when one has a word of
one side, the other a word of another side, and neither has both.
"""

from __future__ import annotations

import re
from collections.abc import Set
from functools import cache

_ANTONYMS = """
enable enabled activate activated on / disable disabled deactivate deactivated off
allow permit accept approve grant authorize / deny refuse reject block disallow revoke
include add insert append create attach mount / exclude remove delete drop detach omit
increase raise grow rise gain up upward upgrade / decrease lower reduce shrink drop fall down downward downgrade
start begin open launch resume raise / stop end close halt shutdown pause finish
succeed success pass win / fail failure lose error
synchronous sync / asynchronous async
required require mandatory obligatory / optional
public shared / private secret
first / last
ascending / descending
maximum max upper highest most / minimum min lower lowest least
faster fast quick quickly quicker / slower slow slowly
larger large big bigger huge great giant tall long longer / smaller small tiny little short shorter
higher high / lower low
more greater above over exceed beyond / less fewer below under beneath
newer new latest modern / older old legacy oldest obsolete
early earlier / late later
local locally / global globally remote remotely
read / write
push upload send publish / pull download receive fetch subscribe
encrypt encode serialize compress zip pack / decrypt decode deserialize decompress unzip unpack
lock / unlock
connect / disconnect
mutable / immutable
static / dynamic
strict / lenient loose
horizontal / vertical
internal inside indoors indoor / external outside outdoors outdoor
input / output
in into onto / out off
front / behind back
near close nearby / far
above top / below bottom
left / right
north / south / east / west
empty / full
same equal identical / different
safe / dangerous unsafe
good better best / bad worse worst
cheap / expensive
strong / weak
hot warm / cold cool
wet / dry
clean / dirty
light bright / dark
deep / shallow
hard difficult / easy simple soft
day daytime / night
morning / evening
ahead forward / backward backwards
client / server
frontend / backend
main primary / replica secondary standby
main / master / develop trunk
acquire obtain / release relinquish
caller / callee
verbose chatty / quiet silent terse
ingress inbound incoming / egress outbound outgoing
prefix / suffix postfix
upstream / downstream
stateful / stateless
blocking / nonblocking
commit / rollback revert
encourage recommend / discourage
support / oppose
expected / unexpected actual
known / unknown
blacklist denylist blocklist / whitelist allowlist
horizontally / vertically
stable / beta alpha unstable experimental
majority / minority
winner / loser
cause / symptom
request / response
row / column
ssd / hdd
cpu / gpu
ipv4 / ipv6
laptop / desktop
free / paid
import / export
accept / decline
hire / fire
married / divorced single
summer / winter / autumn / spring
cat / dog / horse
tea / coffee
parent / child
source / target destination
producer publisher sender / consumer subscriber receiver
eager eagerly / lazy lazily
online / offline
manual manually / automatic automatically
temporary temporarily / permanent permanently
single / multiple
inclusive / exclusive
inner / outer
head / tail
odd / even
positive / negative
present / absent missing
visible show shown / hidden hide
loud noisy / quiet silent
buy / sell
love like / hate dislike
arrive enter / leave exit depart
follow / shun avoid
fold / unfold
sit sitting / stand standing / lie lying / run running / walk walking / sleep sleeping
awake / asleep
alive / dead
man / woman
boy / girl
male / female
mother / father
sister / brother
king / queen
debug / info / warning / critical / fatal
development dev / staging / production prod
monday / tuesday / wednesday / thursday / friday / saturday / sunday
january / february / march / april / june / july / august / september / october / november / december
red / green / blue / yellow / black / white / orange / purple / pink / brown / gray grey
redis / memcached / valkey / hazelcast
postgres postgresql / mysql / mariadb / sqlite / oracle / mongodb / cassandra / dynamodb
kafka / rabbitmq / sqs / nats / pulsar
npm / yarn / pnpm / bun
pip / poetry / conda / pipenv / uv
python / ruby / java / golang / rust / javascript / typescript / kotlin / scala / php / perl / swift
django / flask / fastapi / rails / spring / laravel
react / vue / angular / svelte
aws / gcp / azure
linux / windows / macos
ubuntu / debian / alpine / fedora
docker / podman
nginx / apache / caddy / traefik
json / yaml / toml / xml / csv / protobuf
http / https
tcp / udp
bash / zsh / fish / powershell
git / mercurial / subversion
merge / rebase / squash
unittest / pytest
tabs tab / spaces space
char / varchar
int integer / float / string / boolean
inheritance / composition
true / false
graphql / grpc / soap
"""

_QUANTIFIERS = """
all every each both everything always / some several sometimes occasionally / few rarely seldom hardly / most mostly usually
many lots numerous / few
atleast / atmost / exactly
must shall / may might optionally
"""

_PREFIXES = ("un", "in", "im", "il", "ir", "dis", "non", "de", "mis")
_NOT_PREFIXED = frozenset({"import", "instal", "input", "inform", "insid", "into"})
_SUFFIX = re.compile(r"(?<=\w\w)(?:ingly|ing|edly|(?<!e)ed|ies|es|s|ly|e)$")
_DOUBLED = re.compile(r"(?<=\w\w)([bdgkmnprt])\1$")


def stem(word: str) -> str:
    """Cut endings off, only so far that forms of one word meet."""
    if len(word) > 4 and word.endswith(("ies", "ied")):
        return word[:-2]
    if word.endswith("ss"):
        return word
    root = _DOUBLED.sub(r"\1", _SUFFIX.sub("", word))
    return root[:-1] + "i" if len(root) > 3 and root.endswith("y") else root


def opposites_of(word: str, others: Set[str]) -> set[tuple[str, str]]:
    """Find the stems among `others` that exclude the stem, each with its kind."""
    table = _table().get(word, {})
    negated = {(other, "antonym") for other in _negated_forms(word) & others}
    return negated | {(other, table[other]) for other in table.keys() & others}


@cache
def _table() -> dict[str, dict[str, str]]:
    table: dict[str, dict[str, str]] = {}
    for code, lines in (("antonym", _ANTONYMS), ("quantifier", _QUANTIFIERS)):
        for line in lines.strip().splitlines():
            sides = [{stem(word) for word in side.split()} for side in line.split("/")]
            for side in sides:
                others = set().union(*(other for other in sides if other is not side))
                for word in side:
                    table.setdefault(word, {}).update(
                        dict.fromkeys(others - side, code)
                    )
    return table


def _negated_forms(word: str) -> set[str]:
    """Give what the stem would be with, or without, a negating prefix or suffix."""
    forms = {word.removesuffix("ful") + "less"}
    if len(word) >= 4:
        forms |= {prefix + word for prefix in _PREFIXES}
    if word.endswith("less"):
        forms |= {word.removesuffix("less"), word.removesuffix("less") + "ful"}
    forms |= {
        word.removeprefix(prefix)
        for prefix in _PREFIXES
        if word.startswith(prefix) and len(word) >= len(prefix) + 4
    }
    return set() if word in _NOT_PREFIXED else forms - _NOT_PREFIXED - {word}
