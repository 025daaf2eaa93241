"""The words that `opposites` looks up.

Each line is one choice. The sign `/` separates the sides that exclude each other.
"""

from __future__ import annotations

ANTONYMS = """
enable enabled activate activated on / disable disabled deactivate deactivated off
allow permit accept approve grant authorize / deny refuse reject block disallow revoke
include add insert append create attach mount / exclude remove delete drop detach omit
increase raise grow rise gain up upward upgrade / decrease lower reduce shrink drop fall down downward downgrade
start begin open launch resume raise / stop end close halt shutdown pause finish
succeed success pass win / fail failure lose error
work / fail break broken broke
synchronous sync / asynchronous async
required require mandatory obligatory / optional
public shared / private secret
first / last
ascending / descending
maximum max upper highest most / minimum min lower lowest least
faster fast fastest quick quickly quicker / slower slow slowly slowest
larger large largest big bigger biggest huge great giant tall long longer longest / smaller small smallest tiny little short shorter shortest
higher high / lower low
more greater above over exceed beyond / less fewer below under beneath
newer new newest latest modern recent / older old legacy oldest obsolete
early earlier earliest / late later latest
local locally / global globally remote remotely
read / write
push upload send publish / pull download receive fetch subscribe
encrypt encode serialize compress zip pack / decrypt decode deserialize decompress unzip unpack
lock / unlock
connect / disconnect
mutable / immutable
static / dynamic
strict / lenient loose lax
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
ruff / pylint / pyflakes / eslint
black / yapf / autopep
mypy / pyright / pyre
httpx / requests / aiohttp / urllib
celery / dramatiq / huey / sidekiq
jest / mocha / vitest / jasmine
selenium / playwright / cypress
webpack / vite / rollup / esbuild / parcel
terraform / ansible / puppet / chef / pulumi
jenkins / travis
prometheus / graphite / influxdb
grafana / kibana
vim / emacs / nano
chrome / firefox / safari
ios / android
maven / gradle / bazel
gunicorn / uvicorn / daphne
elasticsearch / opensearch / solr
argon / bcrypt / scrypt
github / gitlab / bitbucket
slack / teams / discord
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
because / although though despite
until till / since
within during / outside
previous prior preceding / next subsequent
fill populate warm / clear flush purge evict
header / body / footer
key / value
administrator admin / guest visitor
stop cease / continue keep
skip omit bypass / run execute perform
ignore / respect honour honor obey handle
keep preserve retain / discard remove delete drop
create / destroy
raise throw / swallow suppress catch
promote / demote
expand / collapse
merge join / split
prepend / append
push / pop
leading / trailing
add / subtract
multiply / divide
plus / minus
round / truncate
floor / ceiling ceil
optimistic pessimist optimist / pessimistic
symmetric / asymmetric
absolute / relative
uppercase / lowercase
singular / plural
wide broad / narrow
coarse / fine
dense / sparse
frequent frequently often common / rare rarely seldom
sequential sequentially serial serially / parallel concurrent concurrently
random randomly / sequential deterministic
direct directly / indirect indirectly
generic / specific
abstract / concrete
active / passive inactive
idle / busy
deprecated obsolete / supported
plaintext / encrypted
depth / breadth
stack / queue
fifo / lifo
credit / debit
deposit / withdraw
borrow / lend
leader / follower
master / slave
reader / writer
getter / setter
host / guest
singleton single / double / triple
nearest closest / farthest furthest
cheapest / costliest
asc / desc
stdin / stdout / stderr
snake / camel / kebab / pascal
unit / integration
weekday weekdays / weekend weekends
today / tomorrow / yesterday
noon / midnight
am / pm
thread / process
pixel pixels px / point points pt / em / rem
cent cents / euro euros / dollar dollars / pound pounds / yen
meter metre meters metres / foot feet / inch / yard
kilometer kilometre km / mile
celsius / fahrenheit / kelvin
degree / radian
bit / byte
gram / kilogram kg / ounce
token / character / word
graphql / grpc / soap
"""

QUANTIFIERS = """
all every each both everything always / some several sometimes occasionally / few rarely seldom hardly / most mostly usually
many lots numerous / few
both / either
atleast / atmost / exactly
must shall / may might optionally
"""
