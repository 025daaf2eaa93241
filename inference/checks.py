from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register

from inference.embedding import embedder, minilm
from inference.errors import ProviderMisconfiguration
from inference.language import language_model

# In seconds. It is less than the silence that a job may keep (jobs.runner), because a run needs
# the rest for other work.
LONGEST_RUN = 90


@register(Tags.compatibility)
def embedding_provider(
    app_configs: Sequence[AppConfig] | None, **kwargs: Any
) -> list[CheckMessage]:
    provider = settings.EMBEDDING_PROVIDER
    known = sorted(embedder.registry.table)
    if provider not in known:
        return [
            _unknown_provider("EMBEDDING_PROVIDER", known=known, id="inference.E001")
        ]
    if provider == "openai":
        return list(_endpoint("EMBEDDING", id="inference.E002"))
    return list(_bundled_files()) if provider == "minilm" else []


@register(Tags.compatibility)
def language_provider(
    app_configs: Sequence[AppConfig] | None, **kwargs: Any
) -> list[CheckMessage]:
    known = sorted([language_model.NONE, *language_model.registry.table])
    if settings.LANGUAGE_PROVIDER not in known:
        return [
            _unknown_provider("LANGUAGE_PROVIDER", known=known, id="inference.E005")
        ]
    if settings.LANGUAGE_PROVIDER == "openai":
        return [*_endpoint("LANGUAGE", id="inference.E006"), *_long_timeout()]
    return list(_unused_language())


@register(Tags.security, deploy=True)
def no_fakes(
    app_configs: Sequence[AppConfig] | None, **kwargs: Any
) -> list[CheckMessage]:
    names = ("EMBEDDING_PROVIDER", "LANGUAGE_PROVIDER")
    return [
        Warning(
            f"{name} is 'fake', the provider of the tests.",
            hint=f"Unset {name}.",
            id="inference.W001",
        )
        for name in names
        if getattr(settings, name) == "fake"
    ]


def _unknown_provider(setting: str, *, known: Sequence[str], id: str) -> CheckMessage:
    return Error(
        f"{setting} is {getattr(settings, setting)!r}, which is no provider.",
        hint=f"Set it to one of: {', '.join(known)}.",
        id=id,
    )


def _endpoint(prefix: str, *, id: str) -> Iterator[CheckMessage]:
    url, model = f"{prefix}_URL", f"{prefix}_MODEL"
    if not getattr(settings, url).startswith(("http://", "https://")):
        yield Error(
            f"{prefix}_PROVIDER is 'openai', but {url} is no web address.",
            hint=f"Set {url} to the endpoint's base, as http://localhost:11434/v1.",
            id=id,
        )
    if not getattr(settings, model):
        yield Error(
            f"{prefix}_PROVIDER is 'openai', but {model} is empty.",
            hint=f"Set {model} to the name of the model at the endpoint.",
            id=id,
        )


def _long_timeout() -> Iterator[CheckMessage]:
    if settings.LANGUAGE_TIMEOUT > LONGEST_RUN:
        yield Warning(
            f"LANGUAGE_TIMEOUT is {settings.LANGUAGE_TIMEOUT} s: a job that waits so "
            "long for the language model is taken for dead and done again.",
            hint=f"Set LANGUAGE_TIMEOUT to {LONGEST_RUN} at most.",
            id="inference.W003",
        )


def _unused_language() -> Iterator[CheckMessage]:
    if settings.LANGUAGE_PROVIDER != language_model.NONE:
        return
    for setting in ("LANGUAGE_URL", "LANGUAGE_MODEL"):
        if getattr(settings, setting):
            yield Warning(
                f"{setting} has no effect: LANGUAGE_PROVIDER is 'none'.",
                hint=f"Set LANGUAGE_PROVIDER=openai, or unset {setting}.",
                id="inference.W004",
            )


def _bundled_files() -> Iterator[CheckMessage]:
    for distribution, name, _ in (minilm.WEIGHTS, minilm.TOKENIZER):
        try:
            minilm.locate_file(distribution, name)
        except ProviderMisconfiguration as error:
            yield Error(
                error.detail,
                hint="Install the locked requirements again.",
                id="inference.E004",
            )
    for setting in ("EMBEDDING_URL", "EMBEDDING_MODEL", "EMBEDDING_DIMENSIONS"):
        if getattr(settings, setting):
            yield Warning(
                f"{setting} has no effect: EMBEDDING_PROVIDER is 'minilm'.",
                hint=f"Set EMBEDDING_PROVIDER=openai, or unset {setting}.",
                id="inference.W002",
            )
