from __future__ import annotations

from importlib import metadata

import pytest

from inference import checks


def run_check(check):
    return [message.id for message in check(None)]


class TestEmbeddingProvider:
    def test_the_bundled_model_is_fine(self, settings):
        settings.EMBEDDING_PROVIDER = "minilm"

        assert run_check(checks.embedding_provider) == []

    def test_an_unknown_provider_is_an_error_that_names_the_known(self, settings):
        settings.EMBEDDING_PROVIDER = "cohere"

        [message] = checks.embedding_provider(None)

        assert message.id == "inference.E001"
        assert "fake, minilm, openai" in message.hint

    def test_an_endpoint_needs_an_address_and_a_model(self, settings):
        settings.EMBEDDING_PROVIDER = "openai"
        settings.EMBEDDING_URL = "localhost:11434"
        settings.EMBEDDING_MODEL = ""

        assert run_check(checks.embedding_provider) == ["inference.E002"] * 2

    def test_a_complete_endpoint_is_fine(self, settings):
        settings.EMBEDDING_PROVIDER = "openai"
        settings.EMBEDDING_URL = "http://localhost:11434/v1"
        settings.EMBEDDING_MODEL = "nomic-embed-text"

        assert run_check(checks.embedding_provider) == []

    def test_the_bundled_files_must_be_installed(self, settings, monkeypatch):
        settings.EMBEDDING_PROVIDER = "minilm"

        def absent(name):
            raise metadata.PackageNotFoundError(name)

        monkeypatch.setattr(metadata, "distribution", absent)

        assert run_check(checks.embedding_provider) == ["inference.E004"] * 2

    def test_a_setting_without_effect_is_a_warning(self, settings):
        settings.EMBEDDING_PROVIDER = "minilm"
        settings.EMBEDDING_MODEL = "nomic-embed-text"

        assert run_check(checks.embedding_provider) == ["inference.W002"]


class TestLanguageProvider:
    def test_none_is_fine(self, settings):
        settings.LANGUAGE_PROVIDER = "none"

        assert run_check(checks.language_provider) == []

    def test_an_unknown_provider_is_an_error(self, settings):
        settings.LANGUAGE_PROVIDER = "minilm"

        assert run_check(checks.language_provider) == ["inference.E005"]

    def test_an_endpoint_needs_an_address_and_a_model(self, settings):
        settings.LANGUAGE_PROVIDER = "openai"
        settings.LANGUAGE_URL = settings.LANGUAGE_MODEL = ""

        assert run_check(checks.language_provider) == ["inference.E006"] * 2


class TestDeployment:
    @pytest.mark.parametrize("name", ["EMBEDDING_PROVIDER", "LANGUAGE_PROVIDER"])
    def test_a_fake_provider_is_a_warning(self, settings, name):
        settings.EMBEDDING_PROVIDER, settings.LANGUAGE_PROVIDER = "minilm", "none"
        setattr(settings, name, "fake")

        assert run_check(checks.no_fakes) == ["inference.W001"]


class TestLanguageModelThatIsNotUsed:
    def test_its_address_without_the_provider_is_told(self, settings):
        settings.LANGUAGE_PROVIDER = "none"
        settings.LANGUAGE_URL = "http://localhost:11434/v1"
        settings.LANGUAGE_MODEL = "small"

        assert run_check(checks.language_provider) == ["inference.W004"] * 2

    def test_a_patience_longer_than_a_jobs_lease_is_told(self, settings):
        settings.LANGUAGE_PROVIDER = "openai"
        settings.LANGUAGE_URL = "http://localhost:11434/v1"
        settings.LANGUAGE_MODEL = "small"
        settings.LANGUAGE_TIMEOUT = 120

        assert run_check(checks.language_provider) == ["inference.W003"]
