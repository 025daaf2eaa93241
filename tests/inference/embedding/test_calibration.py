"""The cosines of another model are read on the scale of the bundled one."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.embedding import active_model, calibration, fake, model_record
from inference.embedding.calibration import BUNDLED, Scale
from inference.embedding.embedder import from_settings
from inference.models import ActiveModel
from memories.read import search as read_search
from memories.read.search import MemorySearch
from memories.store import write
from memories.store.drafts import Draft

NARROW = Scale(unrelated=0.7, related=0.9)


@given(st.floats(-1, 1), st.floats(-1, 1))
def test_a_scale_keeps_the_order_and_leads_back(a, b):
    low, high = sorted((a, b))

    assert NARROW.similarity(low) <= NARROW.similarity(high)
    assert NARROW.cosine(NARROW.similarity(a)) == pytest.approx(a, abs=1e-9)
    assert BUNDLED.similarity(a) == a


def test_its_points_are_those_of_the_bundled_model():
    points = [NARROW.similarity(cosine) for cosine in (0.7, 0.9, 1.0)]

    assert points == pytest.approx([BUNDLED.unrelated, BUNDLED.related, 1.0])


def test_the_constants_are_what_the_bundled_model_has(settings):
    settings.EMBEDDING_PROVIDER = "minilm"

    assert calibration.measure(from_settings()) == BUNDLED


@pytest.mark.django_db
class TestAnInstallationWithAnotherModel:
    @pytest.fixture(autouse=True)
    def _another_model(self, monkeypatch, db):
        ActiveModel.objects.all().delete()
        model_record.forget()
        monkeypatch.setattr(fake.FakeEmbedder, "has_own_scale", True)
        plain = fake.FakeEmbedder.embed

        def embed(model, texts):
            return [
                [*(x * math.sqrt(0.3) for x in vector[:-1]), math.sqrt(0.7)]
                for vector in plain(model, texts)
            ]

        monkeypatch.setattr(fake.FakeEmbedder, "embed", embed)
        active_model.forget_queries()
        yield
        active_model.forget_queries()
        model_record.forget()

    def test_a_job_measures_the_scale_after_the_first_text(
        self, project, alice, run_jobs
    ):
        write.store(project, Draft("The first text.", memory_type="learning"), alice)
        assert ActiveModel.objects.get().scale is None
        run_jobs()

        scale = Scale.read(ActiveModel.objects.get().scale)
        assert 0.7 < scale.unrelated < scale.related < 1
        assert active_model.scale_of("fake") == scale
        assert active_model.scale_of("another") == BUNDLED

    def test_a_text_on_another_subject_does_not_answer_a_query(
        self, project, alice, run_jobs
    ):
        draft = Draft("The deploy waits for a migration.", memory_type="learning")
        write.store(project, draft, alice)
        query = MemorySearch("quantum entanglement", mode="semantic", cutoff="auto")
        assert read_search.find(project, query, alice).hits
        run_jobs()

        assert not read_search.find(project, query, alice).hits

    def test_it_hides_no_memory_before_its_scale_is_measured(
        self, project, alice, run_jobs
    ):
        text = "The nightly run of the ledger ended"
        write.store(project, Draft(f"{text}.", memory_type="learning"), alice)
        other = Draft("Nightly run of the ledger ended.", memory_type="learning")

        early = write.store(project, other, alice)
        run_jobs()
        late = write.store(project, replace(other, content=f"{text}!!"), alice)

        why = "scale: the model's similarities are not measured"
        assert [each.why_not_merged for each in early.possible_duplicates] == [why]
        assert early.status == "stored"
        assert late.status == "duplicate"
