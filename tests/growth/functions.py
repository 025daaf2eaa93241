"""The functions of the product that read texts of others, each as a function of one text."""

from __future__ import annotations

from collections.abc import Callable

from ace.lessons import from_rules, told_errors
from ace.task import file_links, file_paths, memory_type, task, task_outcome, task_tags
from agents.models import AgentTool
from agents.protocols.decision import UnreadableAnswer
from agents.protocols.function_calls import FunctionCallReader, FunctionNames
from agents.protocols.text import TextReader
from agents.steps import AgentStep
from agents.tiers import instruction_shape, personal_data_check, shared_words
from agents.tools import definitions
from agents.tools.header_secrets import mask_values
from agents.tools.input_schema import read_arguments
from agents.working_memory import WorkingMemory
from common.text import (
    danger,
    hidden_text,
    literals,
    normalise,
    prompt_injection,
    question_focus,
    quote,
    same_text,
    secrets,
    storable_json,
    supply,
    tokenise,
    visible,
    word_diff,
)
from common.text.json_secrets import JsonMasker
from conversations.formats import harness
from conversations.transcripts.reader import read_values
from inference import json_text
from inference.errors import InferenceError
from inference.language import chat_answer
from inference.language.chat_pieces import ChatText
from memories.store import memory_types
from playbook.exchange import ace_format, managed_block, markdown_list
from playbook.lessons import gates
from playbook.rule_text import entry_line, merge_texts, unsafe_phrases
from projects.options import AgentSettings
from search import parse_query

# Pieces to which the functions react.
PHRASES = (
    *("curl ", "rm -r ", "git push ", "not ", "never use ", "| ", "QUJDREVG\n", "s u "),
    *("https://a", "http://a.b/c ", "x@", "verify=", "exit 0 ", "41", "if a, ", "- "),
    *("e\u0301\u0316", "\U0001f600", "disable tests ", "%41", "\\u0041", "&#65;", "$("),
    *("password=", '"token": "', "://a:b@", "mysql -p", "-----BEGIN ", "Cookie: a=b; "),
    *("use x instead of y. ", "without the a ", "1,000.5 ", "a_b ", "`a` ", "'a' "),
    *("[a-1] ", "\n[a-1] x", "<!--", "-->", "  ```x\n", "e.g. (", "pip install a "),
    *("\uff9e\u0301", "\u0f73\u0301", "and ", ". "),
    *("Error: ", 'File "a", line 1\n', "--- a\n+++ b\n", "expected ", "cat <<EOF\n"),
)

# Pieces to which the rules of secrets react.
SECRET_PHRASES = (
    *(
        "://a:",
        "eyJ-",
        "ghp_aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eFaB3d",
        "password=a1b2c3d4 ",
        "glagent-",
    ),
    *("password ", "the password for a b c d ", "mysql -p", "curl -u ", "key", "pwd:"),
    *("?key=", "cookie: a=b; ", "\\\\", "%41", '" + "', "_auth=", "[secret:", "aB3-"),
    *("kind: secret\ndata:\n", "datadog=", "machine a login b password c ", "\u200b"),
    *("-----BEGIN PRIVATE " + "KEY-----", "echo a | docker ", "set the password to "),
    *(
        'login(a, "b',
        "kind: secret\n---\n",
        "kind: secret\ndata:\n a: |\n  b\n",
        "FlyV1 a1",
    ),
    *(
        "00D000000000000!a1",
        "password AESwith",
        "<password>\n",
        "password[] = ",
        "aiven a1",
    ),
    *("PasswordAbCdEf", "curl -u a1:", "secret ::= ", "storage key a1", "incoming+a-1"),
    *('auth=("a", "b', "getConnection(a,", "jdbc:oracle:x:a/", "WIFI:a;P:"),
    *(
        "пароль — ",
        "密码是",
        "пароль a b ",
        "a1!aaaaa is the ",
        "<a_b></a_b>",
        "<skill>",
    ),
    *('{"a": ', '{"a": 1}', "</think>", "## My request for Codex:\n", "# a\nb\n"),
    *("ssh-keygen -N ", "#define key ", "setx key1", '<property name="password">'),
)


def reflect(text: str) -> None:
    """Draw the lessons from a task that has the text in each of its fields."""
    given = task.parse(
        {
            "goal": text,
            "result": text,
            "feedback": text,
            "feedback_source": "human",
            "outcome": "success",
            "tool_usage": [
                {"tool_name": "Bash", "arguments": text, "result": f"Error: {text}"},
                {"tool_name": "Bash", "arguments": "ls x", "result": "ok"},
            ],
        }
    )
    outcome = task_outcome.resolve(given)
    from_rules.teach(given, outcome)
    told_errors.find(given, outcome)
    memory_type.memory_type(given, "success")
    task_tags.find(given, file_links.find(given), ["a b", "word"])


def mask_json(text: str) -> None:
    JsonMasker().mask({text[:200]: [{"name": text[:200], "value": text}]})


def convert_playbook(text: str) -> None:
    for document in (text, f"[a-1] x\n  {text}", f"## {text}\n[a-1] {text}"):
        ace_format.format(ace_format.parse(document).lines)


def read_markdown_list(text: str) -> None:
    for document in (text, f"- {text}", f"1. a:\n{text}\n```{text}"):
        markdown_list.parse(document)


def read_managed_block(text: str) -> None:
    block = managed_block.block(f"- [a-1] {text}\n")
    document = managed_block.insert_block(text.encode("utf-8", "replace"), block)
    managed_block.read_rules(document.decode())


def check_gates(text: str) -> None:
    list(gates.find_worthless(text))
    gates.scripts_of(text)
    unsafe_phrases.find_commands(text)
    gates.find_ungrounded(text, [f"a {text}"])


def compare(text: str) -> None:
    other = f"Never {text}"
    same_text.find_difference(text, other)
    merge_texts.merge(text, f"{other}. C")
    word_diff.diff_words(text, other)


def read_decision(text: str) -> None:
    """Read what a model says, each way, in pieces of eight characters."""
    calls = FunctionCallReader(FunctionNames([]))
    for reader in (TextReader(), calls):
        for start in ("Thought: ", text, "\nAction: a\nArgs: {", text):
            for at in range(0, len(start), 8):
                reader.read(ChatText(start[at : at + 8]))
        reader.finish()
        try:
            reader.decide()
        except UnreadableAnswer:
            pass


def read_chat(text: str) -> None:
    content = text.encode("utf-8", "replace")
    for chunks in ([content], [b"data: ", content, b"\n\n"], [b"{", content]):
        try:
            list(chat_answer.read_chat(chunks))
        except InferenceError:
            pass


def condense_steps(text: str) -> None:
    memory = WorkingMemory()
    for step in (AgentStep(text, "a", {"q": text}, text), AgentStep("", "a", {}, "")):
        memory.append(step)
    memory.condense(AgentSettings(working_memory_threshold=200, keep_last_steps=1))


def read_tool_texts(text: str) -> None:
    """Read what a tool's server sends, and what an owner writes into a definition."""
    mask_values(text, {"key": "password=a1b2c3d4", "other": "QUJDREVGR0hJ"})
    headers = {"a": text, "b": text[::2]}
    row = AgentTool(name=text, url=f"https://a.example/{text}", headers=headers)
    list(definitions.find_faults(row))
    properties = {"x": {"description": text, "type": ["string", "null"]}}
    read_arguments({"type": "object", "properties": properties})


# They read 4,096 characters in more than 10 ms.
HEAVY = frozenset(
    {
        *("find_injections", "safe_line", "find_dangers", "compare"),
        *(
            "convert_playbook",
            "check_gates",
            "memory_type",
            "reflect",
            "is_instruction",
            "read_decision",
            "condense_steps",
            "read_tool_texts",
        ),
    }
)
FUNCTIONS: dict[str, Callable[[str], object]] = {
    "normalise": normalise.normalise,
    "hash_text": same_text.hash_text,
    "make_storable": storable_json.make_storable,
    "drop_invisible": visible.drop_invisible,
    "matching_form": visible.matching_form,
    "find_injections": prompt_injection.find_injections,
    "safe_line": quote.safe_line,
    "find_dangers": danger.find_dangers,
    "is_foreign": hidden_text.is_foreign,
    "find_secrets": secrets.find,
    "mask_json": mask_json,
    "find_literals": literals.find_literals,
    "find_paths": literals.find_paths,
    "find_focus": question_focus.find_focus,
    "find_sources": supply.find_sources,
    "describe_text": supply.describe_text,
    "compare": compare,
    "index_text": tokenise.index_text,
    "words": tokenise.words,
    "fold": tokenise.fold,
    "compounds": tokenise.compounds,
    "parse_query": lambda text: parse_query.parse(text, "operators"),
    "convert_playbook": convert_playbook,
    "read_managed_block": read_managed_block,
    "read_markdown_list": read_markdown_list,
    "escape_comments": entry_line.escape_comments,
    "check_gates": check_gates,
    "memory_type": memory_types.classify,
    "file_path": lambda text: file_paths.normalise(text, explicit=True),
    "reflect": reflect,
    "find_personal_data": personal_data_check.find_personal_data,
    "share": lambda text: shared_words.share(text, f"{text} a"),
    "is_instruction": instruction_shape.is_instruction,
    "read_decision": read_decision,
    "read_chat": read_chat,
    "last_object": lambda text: json_text.last_object(text, ["a"]),
    "read_values": read_values,
    "split_harness": harness.split_harness,
    "find_unknown_element": harness.find_unknown_element,
    "condense_steps": condense_steps,
    "read_tool_texts": read_tool_texts,
}
