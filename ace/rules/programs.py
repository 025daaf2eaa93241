"""What common programs do to the files they are given."""

from __future__ import annotations

from ace.rules.paths import Relation
from ace.rules.wordlists import listed

READERS = listed(
    "cat head tail less more bat nl wc od xxd hexdump file strings diff cmp sort uniq "
    "cut jq yq md5sum sha1sum sha256sum stat source . awk gawk column comm readlink "
    "open goto scroll_up scroll_down view"
)
SEARCHERS = listed(
    "grep egrep fgrep rg ag ack find fd ls tree locate which find_file search_file "
    "search_dir"
)
# Their operands are patterns and folders, never a file that was looked at.
NAME_SEARCHERS = listed("find fd locate which find_file search_dir")
FIRST_IS_PATTERN = listed("grep egrep fgrep rg ag ack sed awk gawk jq yq search_file")
NEUTRAL = listed("cd pwd echo printf true : export set date env test [ sleep")
MODIFIERS = listed("vim vi nano emacs ed truncate chmod chown black isort")
CREATORS = listed("touch tee create")
DELETERS = listed("rm unlink shred")
MOVERS = listed("mv rename")
COPIERS = listed("cp install ln rsync scp")
WRAPPERS = listed(
    "sudo time nohup exec command env nice xargs stdbuf timeout then do else if "
    "while ! uv poetry pipenv npx bunx"
)
SHELLS = listed("bash sh zsh dash")
IN_PLACE: dict[str, tuple[str, ...]] = {
    "sed": ("-i", "--in-place"),
    "perl": ("-i", "-pi"),
    "gofmt": ("-w",),
    "prettier": ("--write", "-w"),
    "eslint": ("--fix",),
    "ruff": ("--fix", "format"),
    "autopep8": ("-i", "--in-place"),
    "rustfmt": ("",),
}
GIT: dict[str, Relation] = {
    "rm": "deleted",
    "checkout": "modified",
    "restore": "modified",
    "apply": "referenced",
    "diff": "read",
    "show": "read",
    "blame": "read",
    "log": "referenced",
    "add": "referenced",
}
GIT_READS = frozenset({"diff", "show", "blame", "log", "status", "grep", "ls-files"})
