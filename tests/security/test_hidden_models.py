"""A model that a caller may not see is as one that does not exist: by every call of every frontend that can name a model, to the byte, and in
no list. The calls are those of the tables of routes and of the protocol's description, so that a new one is tested before anybody thinks of
it."""

import http.client
import json
import re

import grpc
import numpy as np
import pytest
import tritonclient.http as httpclient
from support import models
from support.every_call import grpc_methods, http_routes
from support.grpc_frontends import GRPC_FRONTENDS
from support.identities import HIDDEN, wait_for_models
from support.server import START_TIMEOUT_S
from test_contributed_calls import console_calls
from tritonclient.grpc import service_pb2

UNKNOWN = "absent-model"
assert len(UNKNOWN) == len(HIDDEN), "so that answers have the same length"
#: Of the whole server: who has them sees what is of all models.
WHOLE = ("shared-memory", "logging", "metrics")
MESSAGES = [{"role": "user", "content": "x"}]
#: Bodies of the calls that name their model there; a new one has to be added here.
BODIES = {
    "/v1/chat/completions": {"messages": MESSAGES}, "/v1/completions": {"prompt": "x"}, "/v1/embeddings": {"input": "x"},
    "/v1/responses": {"input": "x"}, "/v1/messages": {"messages": MESSAGES, "max_tokens": 3},
    "/v1/messages/count_tokens": {"messages": MESSAGES}, "/v1/rerank": {"query": "x", "documents": ["y"]},
    "/v2/rerank": {"query": "x", "documents": ["y"]}, "/rerank": {"query": "x", "documents": ["y"]}, "/v1/classify": {"input": "x"},
    "/classify": {"input": "x"}, "/tokenize": {"prompt": "x"}, "/detokenize": {"tokens": [1]},
}
#: Calls without a model.
NO_MODEL = {"/health", "/v1/models", "/v1/responses/x", "/tfserving/v1/models"}
#: Calls that are refused whoever makes them, whichever model they name.
REFUSED = {("POST", "/tfserving/v1/models/{}" + end) for end in ("", "/labels/stable", "/metadata", "/versions/1")} | {
    ("POST", "/v2/repository/r/models/{}/load")}
#: A text in, a text out: what frontends/openai can serve, too.
TEXTS = """
backend: "identity" max_batch_size: 8
input { name: "INPUT0" data_type: TYPE_STRING dims: 1 }
output { name: "OUTPUT0" data_type: TYPE_STRING dims: 1 }
parameters { key: "openai" value { string_value: "completion, text_input=INPUT0, text_output=OUTPUT0" } }
"""
CONSOLE_QUERIES = {"/v2/console/history": "model={}", "/v2/console/traces": "model={}", "/v2/console/models": "search={}"}


def request_body():
    tensor = httpclient.InferInput("INPUT0", [1, 1], "BYTES")
    tensor.set_data_from_numpy(np.array([["x"]], object), binary_data=False)
    return httpclient.InferenceServerClient.generate_request_body([tensor])[0]


TENSORS = request_body()


@pytest.fixture(scope="module")
def tokens(keys):
    categories = {category for _, _, category, _ in http_routes()} | {category for _, category, _ in grpc_methods()}
    categories |= {category for _, _, category in console_calls()}
    some = ",".join(f"{category}@fraud-*" for category in sorted(categories - set(WHOLE)))
    return {"some": keys.add("sees-some", some), "all": keys.add("sees-all", "*")}


@pytest.fixture(scope="module", params=GRPC_FRONTENDS)
def server(request, serve, tokens, tmp_path_factory):
    folder = tmp_path_factory.mktemp("hidden")
    for name in ("any", "fraud-a"):
        models.write_model(folder, name, models.identity_config(name))
    models.write_model(folder, HIDDEN, TEXTS)
    vertex = ('plugin.vertex.use="frontends/vertex_ai"', f'plugin.vertex.default_model="{HIDDEN}"', 'plugin.vertex.health_route="/vertex"',
              'plugin.vertex2.use="frontends/vertex_ai"', f'plugin.vertex2.default_model="{UNKNOWN}"',
              'plugin.vertex2.predict_route="/predict2"', 'plugin.vertex2.health_route="/vertex2"')
    labels = ('plugin.routing.use="routing/weighted"', f'plugin.routing.labels={{"{HIDDEN}.stable"=1}}')
    with serve(f'plugin.repository.paths=["{folder}"]', *labels, 'plugin.console.use="frontends/console"', *vertex,
               grpc_frontend=request.param) as running:
        running.wait_active()
        wait_for_models(running, tokens["all"], "any", "fraud-a", HIDDEN)
        yield running


def ask(server, method, path, token, body=b"", headers=None):
    """Status, headers and text of the answer, without what changes from call to call."""
    connection = http.client.HTTPConnection(server.http_address, timeout=START_TIMEOUT_S)
    try:
        connection.request(method, path, body or None, {"Authorization": f"Bearer {token}", **(headers or {})})
        answer = connection.getresponse()
        text = answer.read().decode(errors="replace")
        if "/console/" in path:
            text = re.sub(r'("(?:time_ms|covers_ms)":)\d+', r"\1", text)
        return answer.status, sorted(one for one in answer.getheaders() if "/console/" not in path or one[0].lower() != "content-length"), text
    finally:
        connection.close()


def as_hidden(answer):
    status, headers, text = answer
    return status, [(name, value.replace(UNKNOWN, HIDDEN)) for name, value in headers], text.replace(UNKNOWN, HIDDEN)


def calls_of_a_model():
    """[(method, path with {} for the model, body with {} for it)]"""
    for method, path, category, _ in sorted(http_routes()):
        if category in WHOLE or path in NO_MODEL:
            continue
        if "/any" in path:
            template = path.replace("/any", "/{}", 1).replace("/labels/1", "/labels/stable")
        elif path == "/v1/models/x":
            yield from ((method, "/v1/models/{}" + end, "{{}}") for end in (["/load", "/unload"] if method == "POST" else [""]))
            continue
        elif path.startswith("/v2") and path not in BODIES:
            continue  # of the server
        else:
            yield method, path, json.dumps({"model": "NAME", **BODIES[path]}).replace("{", "{{").replace("}", "}}").replace("NAME", "{}")
            continue
        yield method, template, ""


CALLS = sorted(set(calls_of_a_model()))
assert len(CALLS) > 50


def bodies_of(path, body):
    if body:
        return [body]
    if path.split("/")[-1] in ("infer", "generate", "generate_stream") or ":" in path:
        return [TENSORS, b"{}", b"nonsense", b""]
    return [b"{}", b""]


@pytest.mark.parametrize("method, path, body", CALLS)
def test_http(server, tokens, method, path, body):
    differs = False
    for content in bodies_of(path, body) if method == "POST" else [b""]:
        def answer(token, name):
            sent = content.format(name).encode() if isinstance(content, str) else content
            return ask(server, method, path.format(name), tokens[token], sent, {"content-type": "application/json"})
        hidden, unknown = answer("some", HIDDEN), as_hidden(answer("some", UNKNOWN))
        assert hidden == unknown, (hidden, unknown)
        if not path.endswith("unload"):  # others of this module need it
            differs = differs or answer("all", HIDDEN) != as_hidden(answer("all", UNKNOWN))
    is_refused = (method, path) in REFUSED
    assert differs != is_refused or path.endswith("unload"), "who may see it gets the answer that others get, so nothing was tested"


@pytest.mark.parametrize("path", ["/v2/models/{}", "/v2/models/{}/config", "/v2/models/{}/infer", "/v2/models/{}/stats"])
def test_a_redirect_of_vertex_ai(server, tokens, path):
    def answer(token, name):
        return ask(server, "POST", "/predict", tokens[token], TENSORS, {"x-vertex-ai-triton-redirect": path.format(name)})
    assert answer("some", HIDDEN) == as_hidden(answer("some", UNKNOWN))
    assert answer("all", HIDDEN) != as_hidden(answer("all", UNKNOWN))


def test_a_default_model_of_vertex_ai(server, tokens):
    def answer(token, path):
        return ask(server, "POST", path, tokens[token], TENSORS)
    assert answer("some", "/predict") == as_hidden(answer("some", "/predict2"))
    assert answer("all", "/predict") != as_hidden(answer("all", "/predict2"))


@pytest.mark.parametrize("path, query", sorted(CONSOLE_QUERIES.items()))
def test_the_console(server, tokens, path, query):
    def answer(token, name):
        return ask(server, "GET", f"{path}?{query.format(name)}", tokens[token])
    assert answer("some", HIDDEN) == as_hidden(answer("some", UNKNOWN))


def test_no_call_shows_its_name(server, tokens):
    """Of those that do not name it: lists, among others."""
    ask(server, "POST", f"/v2/models/{HIDDEN}/infer", tokens["all"], TENSORS)
    paths = {(method, path) for method, path, category, _ in http_routes() if category not in WHOLE}
    paths |= {(method, path) for method, path, _ in console_calls()}
    seen = set()
    for method, path in sorted(paths):
        if "unload" in path:
            continue
        body = b"{}" if method == "POST" else b""
        text = ask(server, method, path, tokens["some"], body)[2]
        assert HIDDEN not in text, (method, path, text)
        if method == "GET" or path.endswith("/index"):
            seen |= {path for _ in [0] if HIDDEN in ask(server, method, path, tokens["all"], body)[2]}
    assert {"/v2/models/stats", "/v2/repository/index", "/tfserving/v1/models", "/v2/console/models"} <= seen


def calls_with_a_name():
    """[(path, name of the request's message, its field)]"""
    (service,) = service_pb2.DESCRIPTOR.services_by_name.values()
    categories = {path: category for path, category, _ in grpc_methods()}
    for method in service.methods:
        path = f"/{service.full_name}/{method.name}"
        fields = [name for name in ("model_name", "name") if name in method.input_type.fields_by_name]
        if fields and categories[path] not in WHOLE:
            yield path, method.input_type.name, fields[0]


@pytest.mark.parametrize("path, message, field", sorted(calls_with_a_name()))
def test_grpc(server, tokens, path, message, field):
    def answer(token, name):
        request = getattr(service_pb2, message)(**{field: name})
        if message == "ModelInferRequest":
            tensor = request.inputs.add(name="INPUT0", datatype="FP32", shape=[1])
            tensor.contents.fp32_contents.append(1)
        metadata = [("authorization", f"Bearer {tokens[token]}")]
        with grpc.insecure_channel(server.address) as channel:
            try:
                if "Stream" in path:
                    calls = channel.stream_stream(path)(iter([request.SerializeToString()]), metadata=metadata, timeout=START_TIMEOUT_S)
                    return "OK", list(calls)
                return "OK", channel.unary_unary(path)(request.SerializeToString(), metadata=metadata, timeout=START_TIMEOUT_S)
            except grpc.RpcError as error:
                return error.code().name, error.details(), sorted(error.trailing_metadata())

    def renamed(answer):
        return json.loads(json.dumps(answer, default=lambda data: data.decode("latin-1")).replace(UNKNOWN, HIDDEN))
    assert renamed(answer("some", HIDDEN)) == renamed(answer("some", UNKNOWN))
    if not path.endswith("Unload"):
        assert renamed(answer("all", HIDDEN)) != renamed(answer("all", UNKNOWN)), "nothing was tested"
