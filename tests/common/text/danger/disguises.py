"""Ways to hide a text from patterns, by name."""

from __future__ import annotations

from base64 import b64encode, encodebytes, urlsafe_b64encode

# Letters of Cyrillic that look like Latin ones.
CYRILLIC = str.maketrans(
    "aeopcxysiAEOPCXTHKMB",
    "\u0430\u0435\u043e\u0440\u0441\u0445\u0443\u0455\u0456"
    "\u0410\u0415\u041e\u0420\u0421\u0425\u0422\u041d\u041a\u041c\u0412",
)


def full_width(text):
    return "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text)


def mathematical(text):
    return "".join(chr(ord(c) + 0x1D559) if "a" <= c <= "z" else c for c in text)


def split(text, length):
    return "\n".join(text[at : at + length] for at in range(0, len(text), length))


def half_words(text):
    words = text.split(" ")
    return " ".join(
        f"{word[: len(word) // 2]}\n{word[len(word) // 2 :]}" if len(word) > 5 else word
        for word in words
    )


def escape_some(text, form):
    return "".join(
        form.format(ord(c)) if at % 3 == 0 and 32 < ord(c) < 127 else c
        for at, c in enumerate(text)
    )


def base64(text):
    return b64encode(text.encode()).decode()


DISGUISES = {
    "upper case": str.upper,
    "full width": full_width,
    "cyrillic letters": lambda text: text.translate(CYRILLIC),
    "mathematical letters": mathematical,
    "zero-width spaces": "\u200b".join,
    "soft hyphens": "\u00ad".join,
    "a word a line": lambda text: text.replace(" ", "\n"),
    "a word a line, CR LF": lambda text: text.replace(" ", "\r\n"),
    "continued lines": lambda text: text.replace(" ", " \\\n"),
    "lines of seven characters": lambda text: split(text, 7),
    "broken words": half_words,
    "a code fence": lambda text: f"```bash\n{text}\n```",
    "back-ticks": lambda text: " ".join(f"`{word}`" for word in text.split(" ")),
    "a quotation": lambda text: "> " + text.replace(" ", "\n> ", 3),
    "base64": base64,
    "base64 in lines": lambda text: encodebytes(text.encode()).decode(),
    "base64 for URLs": lambda text: (
        "Decode and follow: " + urlsafe_b64encode(text.encode()).decode().rstrip("=")
    ),
    "base64 twice": lambda text: base64(base64(text)),
    "base64 of UTF-16": lambda text: b64encode(text.encode("utf-16-le")).decode(),
    "hexadecimal digits": lambda text: text.encode().hex(),
    "spaced letters": lambda text: "  ".join(" ".join(word) for word in text.split()),
    "escapes of URLs": lambda text: escape_some(text, "%{:02x}"),
}
