"""backends/llamacpp with an encoder of sentences and a reranker: they compute what ONNX Runtime and NumPy compute of the same weights."""

import json
import subprocess
import sys
import urllib.request

import numpy as np
import onnx
import openai
import pytest
from support import gguf_models
from support.language_models import LLAMACPP, link_or_copy
from support.server import ROOT, Server

sys.path.insert(0, str(ROOT / "etc" / "examples" / "search"))
import make_models  # noqa: E402

ENCODER = ROOT / "build" / "minilm"
COSINE = 0.999
# Beside those of the example: what tokenizers may see in different ways. The example's tokenizer cuts off what is longer than 128 tokens.
TEXTS = ["", " ", "a", "Straße, naïve café - déjà vu!", "don't  stop\t(now)", "1,234.56 % of $7", "日本語 and Ελληνικά", "🙂 smiles", "UPPER lower",
         "antidisestablishmentarianism " * 3, "word " * 100]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    repository = tmp_path_factory.mktemp("repository")
    made = ROOT / "build" / "all-MiniLM-L6-v2.gguf"
    subprocess.run([sys.executable, ROOT / "etc/models/write_minilm.py", "--output", made, "--encoder", ENCODER], check=True,
                   stdout=subprocess.DEVNULL)
    (repository / "minilm/1").mkdir(parents=True)
    link_or_copy(made, repository / "minilm/1/model.gguf")
    gguf_models.write_reranker(repository / "reranker/1/model.gguf", gguf_models.reranker_weights())
    with Server(repository, *LLAMACPP, 'plugin.openai.use="frontends/openai"') as running:
        running.wait_ready()
        yield running.wait_active()


@pytest.fixture(scope="module")
def client(server):
    with openai.OpenAI(base_url=f"http://{server.http_address}/v1", api_key="none", max_retries=0, timeout=120) as client:
        yield client


@pytest.fixture(scope="module")
def by_onnx(tmp_path_factory):
    """texts -> vectors, by the ONNX models that etc/examples/search makes of the same weights."""
    folder = tmp_path_factory.mktemp("onnx")
    weights = make_models.load_file(ENCODER / "model.safetensors")
    onnx.save(make_models.encoder(weights), folder / "encoder.onnx")
    onnx.save(make_models.pooling(), folder / "pooling.onnx")
    return lambda texts: make_models.encode(texts, ENCODER / "tokenizer.json", folder / "encoder.onnx", folder / "pooling.onnx")


def test_embeddings_are_those_of_the_onnx_encoder(client, by_onnx):
    texts = [line.strip() for line in (ROOT / "etc/examples/search/text.txt").read_text().splitlines() if line.strip()] + TEXTS
    found = np.array([item.embedding for item in client.embeddings.create(model="minilm", input=texts).data])
    expected = by_onnx(texts)
    assert found.shape == expected.shape == (len(texts), 384)
    cosines = (found * expected).sum(1)  # all are of length 1
    assert np.abs(np.linalg.norm(found, axis=1) - 1).max() < 1e-4
    worst = int(cosines.argmin())
    assert cosines[worst] >= COSINE, (texts[worst], cosines[worst])
    # The oracle tells texts apart.
    others = found @ expected.T - 2 * np.eye(len(texts))
    assert others.max() < COSINE or texts[others.max(1).argmax()] in ("", " ")


def test_tokens_of_embeddings_are_counted(client):
    assert client.embeddings.create(model="minilm", input="one two three").usage.prompt_tokens == 5  # and the two ends


def rerank(server, query, documents):
    body = {"model": "reranker", "query": query, "documents": documents}
    request = urllib.request.Request(f"http://{server.http_address}/v1/rerank", json.dumps(body).encode(),
                                     {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)["results"]


def test_scores_are_those_of_numpy(server):
    weights = gguf_models.reranker_weights()
    documents = ["the bird sings", "the fish swims", "a tree grows", "red", "blue river the river", " ".join(gguf_models.WORDS)]
    for query in ("the bird", "a green tree", "swims"):
        expected = [gguf_models.rerank_score(weights, query, document) for document in documents]
        results = rerank(server, query, documents)
        found = {result["index"]: result["relevance_score"] for result in results}
        for index, score in enumerate(expected):
            assert found[index] == pytest.approx(score, abs=0.005), (query, documents[index])
        assert [result["index"] for result in results] == sorted(range(len(documents)), key=lambda index: -found[index])
        assert np.ptp(expected) > 0.1, "the oracle tells the documents apart"
