"""Check bodies, paths and queries before anything else reads them."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import IO, Any, NoReturn
from urllib.parse import unquote_to_bytes

from django.conf import settings
from django.http import HttpRequest
from rest_framework.parsers import BaseParser

from common import errors
from common.api.problem import UnsupportedMediaType
from common.text import plain_text, storable_json
from common.text.storable_json import StorableJSON

SAFE_DIGITS = 18  # every number of so many characters is below 2**63
MAX_DIGITS = 20  # characters of a signed 64-bit number
# This pattern matches in every body that has text which cannot be stored.
BAD_ESCAPE = re.compile(rb"\\u(?:0000|[dD][89a-fA-F])")


class InvalidJSON(errors.Refusal):
    """The body is not JSON."""

    code = "invalid_json"


class InvalidText(errors.Refusal):
    """Bodies, paths and queries are UTF-8; paths and queries have no NUL character."""

    code = "invalid_text"


class InvalidNumber(errors.Refusal):
    """Numbers must be finite, and whole numbers must fit in 64 bits."""

    code = "invalid_number"


class TooDeep(errors.Refusal):
    """The body is nested too deeply; flatten it."""

    code = "too_deep"


class LengthRequired(errors.Refusal):
    """Send the body with a Content-Length; chunked bodies are not read."""

    code = "length_required"


@dataclass(frozen=True)
class ReplacedText:
    """What a request had before its text was made storable, and where it was replaced."""

    body_as_sent: Mapping[str, Any]
    paths: tuple[str, ...]


class StrictJSONParser(BaseParser):
    """Parse one JSON object in UTF-8, within the limits of docs/limits.md."""

    media_type = "application/json"

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        request = (parser_context or {}).get("request")
        refuse_charset(media_type or "")
        raw = read_body(stream, int(content_length(request) or 0))
        body = parse_object(raw)
        if not BAD_ESCAPE.search(raw):
            return body
        storable = make_storable(body)
        if request is not None and storable.replaced:
            replaced = ReplacedText(body, storable.replaced)
            request._request.replaced_text = replaced
        value: dict[str, Any] = storable.value
        return value


def content_length(request: Any) -> str:
    return str(getattr(request, "META", {}).get("CONTENT_LENGTH") or "")


def refuse_charset(media_type: str) -> None:
    for part in media_type.split(";")[1:]:
        name, _, value = part.strip().partition("=")
        charset = value.strip("\"' ").lower()
        if name.strip().lower() == "charset" and charset not in ("utf-8", "utf8"):
            raise UnsupportedMediaType


def read_body(stream: IO[Any], length: int) -> bytes:
    limit: int = settings.BODY_LIMIT
    too_large = errors.TooLarge(f"The body is larger than {limit} bytes; send less.")
    if length > limit:
        raise too_large
    raw: bytes = stream.read(limit + 1)
    if len(raw) > limit:
        raise too_large
    return raw


def parse_object(raw: bytes) -> dict[str, Any]:
    """Parse a JSON object; refuse values that PostgreSQL or clients cannot hold."""
    text = decode_utf8(raw)
    value = parse_json(text)
    if not isinstance(value, dict):
        raise errors.Invalid(errors={"body": ["The body must be a JSON object."]})
    refuse_depth(value)
    return value


def decode_utf8(raw: bytes) -> str:
    try:
        # Some shells on Windows add a byte order mark.
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidText(
            f"The body is not UTF-8: byte {error.start} is {raw[error.start]:#04x}."
        ) from None


def parse_json(text: str) -> Any:
    try:
        return json.loads(
            text,
            parse_int=parse_whole,
            parse_float=parse_real,
            parse_constant=refuse_constant,
            object_pairs_hook=parse_pairs,
        )
    except RecursionError:
        raise TooDeep(_depth_message()) from None
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise InvalidJSON(f"The body is not JSON: {error.msg} at {place}.") from None


def parse_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object; refuse a repeated key, because parsers disagree on its value."""
    parsed = dict(pairs)
    if len(parsed) != len(pairs):
        names = Counter(name for name, _ in pairs)
        duplicate = names.most_common(1)[0][0]
        raise InvalidJSON(
            f"The key {plain_text.clip(duplicate, 80)!r} occurs twice in an object."
        )
    return parsed


def parse_whole(digits: str) -> int:
    if len(digits) <= SAFE_DIGITS:
        return int(digits)
    if len(digits) <= MAX_DIGITS and -(2**63) <= int(digits) < 2**63:
        return int(digits)
    raise InvalidNumber(
        f"{plain_text.clip(digits, 40)} does not fit in 64 bits; send it as a string."
    )


def parse_real(digits: str) -> float:
    if math.isfinite(value := float(digits)):
        return value
    raise InvalidNumber(
        f"{plain_text.clip(digits, 40)} is too large; send it as a string."
    )


def refuse_constant(name: str) -> NoReturn:
    raise InvalidNumber(f"{name} is no JSON number; send null or a string instead.")


def refuse_depth(body: dict[str, Any]) -> None:
    if storable_json.is_deeper(body, settings.BODY_DEPTH):
        raise TooDeep(_depth_message())


def make_storable(body: dict[str, Any]) -> StorableJSON:
    """Replace what cannot be stored; refuse a body in which two keys become the same."""
    try:
        return storable_json.make_storable(body)
    except storable_json.EqualKeys as error:
        raise InvalidText(
            "Two keys of an object differ only in characters that cannot be stored.",
            errors={str(error): ["Two of its keys become the same."]},
        ) from None


def _depth_message() -> str:
    return f"The body is nested deeper than {settings.BODY_DEPTH} levels; flatten it."


def refuse_request(request: HttpRequest) -> None:
    """Refuse a path or query that is not clean UTF-8, and a body of unknown length."""
    if fault := plain_text.find_unstorable(request.path_info):
        raise InvalidText(f"The path {fault}.")
    try:
        query = unquote_to_bytes(request.META.get("QUERY_STRING", "")).decode()
    except UnicodeDecodeError:
        raise InvalidText("The query string is not UTF-8.") from None
    if fault := plain_text.find_unstorable(query):
        raise InvalidText(f"The query string {fault}.")
    length = content_length(request)
    if "HTTP_TRANSFER_ENCODING" in request.META and not length:
        raise LengthRequired
    if length and not (length.isascii() and length.isdigit() and len(length) < 19):
        raise LengthRequired
