"""What common programs do to the files they are given."""

from __future__ import annotations

from ace.rules.word_tables import split_words

READERS = split_words(
    "cat head tail less more bat nl wc od xxd hexdump file strings diff cmp sort uniq "
    "cut jq yq md5sum sha1sum sha256sum stat source . awk gawk column comm readlink "
    "open goto scroll_up scroll_down view"
)
SEARCHERS = split_words(
    "grep egrep fgrep rg ag ack find fd ls tree locate which find_file search_file "
    "search_dir"
)
# Their operands are patterns and folders, never a file that was looked at.
NAME_SEARCHERS = split_words("find fd locate which find_file search_dir")
FIRST_IS_PATTERN = split_words(
    "grep egrep fgrep rg ag ack sed awk gawk jq yq search_file"
)
NEUTRAL = split_words("cd pwd echo printf true : export set date env test [ sleep")
MODIFIERS = split_words("vim vi nano emacs ed truncate chmod chown black isort")
CREATORS = split_words("touch tee create")
DELETERS = split_words("rm unlink shred")
MOVERS = split_words("mv rename")
COPIERS = split_words("cp install ln rsync scp")
WRAPPERS = split_words(
    "sudo time nohup exec command env nice xargs stdbuf timeout then do else if "
    "while ! uv poetry pipenv npx bunx"
)
SHELLS = split_words("bash sh zsh dash")
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
GIT_READS = frozenset({"diff", "show", "blame", "log", "status", "grep", "ls-files"})
