"""Write the client's calls and shapes from the service's OpenAPI schema.

`write_client` of bin/setup pipes the schema into it where the modules are missing or old. The schema is the one description of each call. `calls.py` has a function for each operation,
`methods.py` names them as methods, and `shapes.py` has the types of bodies and answers.
"""

from __future__ import annotations

import json
import keyword
import re
import subprocess
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

Schema = Mapping[str, Any]
PACKAGE = Path(__file__).parent / "agent_memory"
PREFIX = "/api/v1/"
METHODS = ("get", "post", "put", "patch", "delete")
IDEMPOTENCY_KEY = "Idempotency-Key"
HEAD = "# Written by client/generate.py from the OpenAPI schema; do not edit.\n"
PRIMITIVES = {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}
PAGE = {"results", "next", "previous"}


def type_of(schema: Schema, place: str = "") -> str:
    """Return the Python type of a schema; `place` stands before the names of shapes."""
    kind = _type_without_null(schema, place)
    is_nullable = schema.get("nullable") and kind not in ("Any", "None")
    return f"{kind} | None" if is_nullable and "None" not in kind else kind


def _type_without_null(schema: Schema, place: str) -> str:
    if reference := schema.get("$ref"):
        name = reference.rpartition("/")[2]
        return "None" if name == "NullEnum" else place + name
    for union in ("allOf", "oneOf", "anyOf"):
        if parts := schema.get(union):
            return " | ".join(dict.fromkeys(type_of(part, place) for part in parts))
    if choices := schema.get("enum"):
        return f"Literal[{', '.join(map(repr, choices))}]"
    match schema.get("type"):
        case "array":
            return f"list[{type_of(schema.get('items', {}), place)}]"
        case "object":
            values = schema.get("additionalProperties")
            inner = type_of(values, place) if isinstance(values, dict) else "Any"
            return f"dict[str, {inner}]"
        case kind:
            return PRIMITIVES.get(kind or "", "Any")


def list_required(fields: Collection[str], names: Iterable[str]) -> set[str]:
    """Leave out `project_id` where `project` is its other name: the client adds its own."""
    return set(names) - ({"project_id"} if "project" in fields else set())


def write_fields(name: str, fields: Schema, required: set[str]) -> str:
    """Write a TypedDict; its functional form if a field is not an identifier."""
    types = {
        field: kind if field in required else f"NotRequired[{kind}]"
        for field, kind in ((f, type_of(schema)) for f, schema in fields.items())
    }
    if any(not f.isidentifier() or keyword.iskeyword(f) for f in types):
        pairs = ", ".join(f"{f!r}: {kind!r}" for f, kind in types.items())
        return f"{name} = TypedDict({name!r}, {{{pairs}}})\n"
    lines = [f"    {field}: {kind}" for field, kind in types.items()]
    return "\n".join([f"class {name}(TypedDict):", *(lines or ["    pass"])]) + "\n"


def write_shape(name: str, schema: Schema) -> str:
    fields = schema.get("properties")
    if not fields:
        return f"{name} = {type_of(schema)}\n"
    required = list_required(fields, schema.get("required", ()))
    if fields.keys() >= PAGE and "items" in fields["results"]:
        item = type_of(fields["results"]["items"])
        more = {field: fields[field] for field in fields.keys() - PAGE}
        head = f"class {name}(Page[{item}]):"
        return write_fields(name, dict(sorted(more.items())), required).replace(
            f"class {name}(TypedDict):", head
        )
    return write_fields(name, fields, required)


@dataclass(frozen=True)
class Operation:
    """An operation of the schema: a method of the client."""

    name: str
    method: str
    path: str
    summary: str
    path_fields: list[str]
    query: dict[str, Schema]
    required: set[str]
    is_repeatable: bool
    body: Schema
    answer: str

    @property
    def query_name(self) -> str:
        return "".join(map(str.title, self.name.split("_"))) + "Query"

    @property
    def body_reference(self) -> str:
        """The name of the shape of a JSON body; empty if there is none."""
        content = self.body.get("application/json", {}).get("schema", {})
        return str(content.get("$ref", "")).rpartition("/")[2]

    @property
    def binary_types(self) -> list[str]:
        """The media types of a body that is no JSON."""
        return [kind for kind in self.body if kind != "application/json"]

    @property
    def takes_free_object(self) -> bool:
        return "application/json" in self.body and not self.body_reference

    @property
    def is_binary(self) -> bool:
        return bool(self.body) and "application/json" not in self.body

    @property
    def has_query_shape(self) -> bool:
        """Whether the query is the only thing that the call takes by name."""
        return bool(self.query) and not self.body


def read_operations(document: Schema) -> Iterator[Operation]:
    for path, methods in document["paths"].items():
        for method in METHODS:
            if method in methods and path.startswith(PREFIX):
                yield read_operation(path, method, methods[method])


def read_operation(path: str, method: str, operation: Schema) -> Operation:
    parameters = operation.get("parameters", [])
    query = {p["name"]: p for p in parameters if p["in"] == "query"}
    required = {name for name, p in query.items() if p.get("required")}
    headers = {p["name"] for p in parameters if p["in"] == "header"}
    return Operation(
        name=operation["operationId"],
        method=method.upper(),
        path=path.removeprefix(PREFIX),
        summary=str(operation.get("summary") or operation["description"]),
        path_fields=re.findall(r"{(\w+)}", path),
        query={name: p["schema"] for name, p in sorted(query.items())},
        required=list_required(query, required),
        is_repeatable=IDEMPOTENCY_KEY in headers,
        body=operation.get("requestBody", {}).get("content", {}),
        answer=answer_of(operation["responses"]),
    )


def answer_of(responses: Schema) -> str:
    """Return the type of what the good answers hold."""
    contents = [r.get("content") for c, r in responses.items() if c.startswith("2")]
    types = [
        type_of(media["schema"], "shapes.") if media.get("schema") else "Any"
        for content in contents
        for media in (content or {}).values()
    ]
    return " | ".join(dict.fromkeys(types)) or "None"


def write_call(operation: Operation, body_fields: set[str]) -> str:
    arguments, values, named = [f"{f}: str" for f in operation.path_fields], [], []
    if arguments:
        arguments.append("/")
    if operation.is_binary:
        kinds = operation.binary_types
        named += ["content: bytes", f"content_type: str = {kinds[0]!r}"]
        values += ["content=content", "content_type=content_type"]
    if operation.is_repeatable:
        named.append("idempotency_key: str | None = None")
        values.append("idempotency_key=idempotency_key")
    last = ""
    if operation.has_query_shape:
        last = f"**query: Unpack[shapes.{operation.query_name}]"
        values.append("query=dict(query)")
    elif beside := [name for name in operation.query if name not in body_fields]:
        named += [_query_argument(operation, name) for name in beside]
        pairs = ", ".join(f"{name!r}: {name}" for name in beside)
        values.append(f"query=without_none({{{pairs}}})")
    if operation.body_reference:
        last = f"**body: Unpack[shapes.{operation.body_reference}]"
        values.append("body=dict(body)")
    elif operation.takes_free_object:
        last = "**body: Any"
        values.append("body=body")
    if "project" in operation.query:
        values.append("project_in='query'")
    elif "project" in body_fields:
        values.append("project_in='body'")
    if named:
        arguments += ["*", *named]
    arguments += [last] if last else []
    template = re.sub(r"{\w+}", "{}", operation.path)
    path = ", ".join([repr(template), *operation.path_fields])
    route = f"path({path})" if operation.path_fields else repr(template)
    return (
        f"def {operation.name}({', '.join(arguments)}) -> Request[{operation.answer}]:\n"
        f'    """{operation.summary.rstrip(".")}."""\n'
        f"    return Request({', '.join([repr(operation.method), route, *values])})\n"
    )


def _query_argument(operation: Operation, name: str) -> str:
    kind = type_of(operation.query[name], "shapes.")
    if name in operation.required:
        return f"{name}: {kind}"
    return f"{name}: {kind} | None = None"


def write_shapes(document: Schema, operations: list[Operation]) -> str:
    schemas = document["components"]["schemas"]
    shapes = [write_shape(n, s) for n, s in sorted(schemas.items()) if n != "NullEnum"]
    # Python reads what stands outside an annotation at once, so it comes after its parts.
    shapes.sort(key=lambda shape: "(TypedDict)" not in shape)
    queries = [
        write_fields(o.query_name, o.query, o.required)
        for o in operations
        if o.has_query_shape
    ]
    head = (
        f"{HEAD}"
        '"""The types of bodies, queries and answers; only type checkers import them."""\n\n'
        "from __future__ import annotations\n\n"
        "from typing import Any, Literal, NotRequired, TypedDict\n\n"
        "from agent_memory.page import Page\n"
    )
    return "\n\n".join([head, *shapes, *queries])


def write_calls(document: Schema, operations: list[Operation]) -> str:
    schemas = document["components"]["schemas"]
    calls = [
        write_call(o, set(schemas.get(o.body_reference, {}).get("properties", ())))
        for o in operations
    ]
    head = (
        f"{HEAD}"
        '"""A function for each operation of the service; it returns the request."""\n\n'
        "from __future__ import annotations\n\n"
        "from typing import TYPE_CHECKING, Any, Literal, Unpack\n\n"
        "from agent_memory.request import Request, path, without_none\n\n"
        "if TYPE_CHECKING:\n    from agent_memory import shapes\n"
    )
    return "\n\n".join([head, *calls])


def write_methods(operations: list[Operation]) -> str:
    lines = [f"    {o.name} = Method(calls.{o.name})" for o in operations]
    return (
        f"{HEAD}"
        '"""The methods of both clients."""\n\n'
        "from __future__ import annotations\n\n"
        "from agent_memory import calls\nfrom agent_memory.request import Method\n\n\n"
        'class Methods:\n    """A method for each operation of the service, by its operation id."""\n\n'
        + "\n".join(lines)
        + "\n"
    )


def tidy(source: str) -> str:
    """Format a module as the repository does, and drop the imports that it does not use.

    Without ruff, which only developers have, the module says the same in longer lines.
    """
    if find_spec("ruff") is None:
        return source
    ruff = [sys.executable, "-m", "ruff"]
    fix = ["check", "--fix", "--quiet", "--isolated", "--select", "F401,I", "-"]
    for arguments in (fix, ["format", "--quiet", "--isolated", "-"]):
        source = subprocess.run(
            [*ruff, *arguments],
            input=source,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    return source


def render(document: Schema) -> dict[str, str]:
    """Return the text of each file by its name; `calls.py`, whose age counts, comes last."""
    operations = sorted(read_operations(document), key=lambda o: o.name)
    files = {
        "methods.py": write_methods(operations),
        "shapes.py": write_shapes(document, operations),
        "calls.py": write_calls(document, operations),
    }
    return {name: tidy(source) for name, source in files.items()}


if __name__ == "__main__":
    for name, source in render(json.load(sys.stdin)).items():
        (PACKAGE / name).write_text(source)
