"""The calls by which Amazon SageMaker and Google's Vertex AI use a container, on a server that tritonserver has started."""

import numpy as np
import pytest
import tritonclient.http
from support import models
from support.http_call import call
from support.launched import Launched
from support.waiting import eventually

SAGEMAKER = "application/vnd.sagemaker-triton.binary+json;json-header-size="
VERTEX = "application/vnd.vertex-ai-triton.binary+json;json-header-size="
REDIRECT = "X-Vertex-Ai-Triton-Redirect"


@pytest.fixture
def repository(tmp_path):
    models.write_model(tmp_path / "models", "echo", models.identity_config("echo"))
    return tmp_path / "models"


def place_of(server, instance):
    """Where an instance of the HTTP frontend listens."""
    return "http://" + server.newest_line(rf"\[{instance}\] Started HTTPService at (\S+)").group(1)


def body_of(values, binary):
    """A request of tritonclient: its body, and the bytes of JSON in it; None: all of it."""
    sent = np.array(values, np.float32)
    tensor = tritonclient.http.InferInput("INPUT0", list(sent.shape), "FP32")
    tensor.set_data_from_numpy(sent, binary_data=binary)
    output = tritonclient.http.InferRequestedOutput("OUTPUT0", binary_data=binary)
    return tritonclient.http.InferenceServerClient.generate_request_body([tensor], outputs=[output])


def answer_of(reply, prefix):
    content_type = reply.headers["Content-Type"]
    assert "Inference-Header-Content-Length" not in reply.headers
    length = int(content_type.removeprefix(prefix)) if content_type.startswith(prefix) else None
    return tritonclient.http.InferenceServerClient.parse_response_body(reply.body, header_length=length).as_numpy("OUTPUT0").tolist()


def check_inference(url, prefix, headers=()):
    """Tensors as JSON and as bytes, and what a wrong length is told."""
    body, _ = body_of([1.0, 2.0], binary=False)
    plain = call("POST", url, body, headers={"Content-Type": "application/json", **dict(headers)})
    assert plain.status == 200 and plain.headers["Content-Type"] == "application/json", plain.text
    assert answer_of(plain, prefix) == [1.0, 2.0]
    body, length = body_of([3.0, 4.0], binary=True)
    coded = call("POST", url, body, headers={"Content-Type": f"{prefix}{length}", **dict(headers)})
    assert coded.status == 200 and coded.headers["Content-Type"].startswith(prefix), coded.text
    assert answer_of(coded, prefix) == [3.0, 4.0]
    for wrong in ("", "x", "-1", str(len(body) + 1)):
        told = call("POST", url, body, headers={"Content-Type": prefix + wrong, **dict(headers)})
        assert told.status == 400 and "error" in told.json(), (wrong, told.text)


def test_sagemaker(repository):
    """A container for SageMaker listens on one port: GET /ping is 200 once it is ready, and POST /invocations asks its model."""
    with Launched(repository, "--allow-sagemaker=true", "--sagemaker-port=0", "--sagemaker-thread-count=1") as server:
        server.wait_ready("echo")
        place = place_of(server, "http_sagemaker")
        eventually(lambda: call("GET", f"{place}/ping").status == 200)
        assert call("GET", f"{place}/ping").text == ""
        check_inference(f"{place}/invocations", SAGEMAKER)
        for method, path, status in (("POST", "/ping", 405), ("GET", "/invocations", 405), ("GET", "/v2/health/ready", 404),
                                     ("POST", "/v2/models/echo/infer", 404), ("GET", "/models", 404)):
            assert call(method, place + path).status == status, path
        # They are counted as what they are.
        counted = call("GET", f"http://{server.metrics_address}/metrics").text
        line = next(line for line in counted.splitlines() if line.startswith("atoll_http_requests_total{") and
                    all(label in line for label in ('instance="http_sagemaker"', 'category="inference"', 'status="2xx"')))
        assert line.endswith(" 2")
        with server.client() as client:
            assert client.get_inference_statistics("echo").model_stats[0].inference_count == 2


def test_sagemaker_with_several_models(repository):
    """The environment names the one that is asked; without it a request is told what to set."""
    models.write_model(repository, "other", models.identity_config("other"))
    for named, status in (({"SAGEMAKER_TRITON_DEFAULT_MODEL_NAME": "echo"}, 200), ({}, 400)):
        with Launched(repository, "--allow-sagemaker=true", "--sagemaker-port=0", environment=named) as server:
            server.wait_ready("echo")
            body, _ = body_of([1.0], binary=False)
            told = call("POST", f"{place_of(server, 'http_sagemaker')}/invocations", body)
            assert told.status == status, told.text
            if status == 400:
                assert told.json() == {"error": "the request names no model, and there is no default: the repositories have 2 models; "
                                                "set the option default_model, or SAGEMAKER_TRITON_DEFAULT_MODEL_NAME of tritonserver's environment"}


def test_a_default_model_that_is_not_there_is_told(repository):
    with Launched(repository, "--allow-sagemaker=true", "--sagemaker-port=0",
                  environment={"SAGEMAKER_TRITON_DEFAULT_MODEL_NAME": "nosuch"}) as server:
        server.wait_logged("[sagemaker] the default model 'nosuch' is in no repository: requests for it are answered with 404")


def test_sagemaker_before_the_server_is_ready(repository):
    """/ping is no success while a model of the start cannot be served."""
    (repository / "echo/config.pbtxt").write_text("name: 'else'")
    with Launched(repository, "--allow-sagemaker=true", "--sagemaker-port=0", grpc=False) as server:
        server.wait_for_startup()
        assert call("GET", f"{place_of(server, 'http_sagemaker')}/ping").status == 400


@pytest.mark.parametrize("routes", [{}, {"AIP_HEALTH_ROUTE": "/v1/endpoints/7/deployedModels/8",
                                         "AIP_PREDICT_ROUTE": "/v1/endpoints/7/deployedModels/8"}])
def test_vertex_ai(repository, routes):
    """Vertex AI says by the environment what a container has to answer; HTTP and gRPC are off then."""
    environment = {"AIP_MODE": "PREDICTION", "AIP_HTTP_PORT": "0", "AIP_STORAGE_URI": str(repository), **routes}
    with Launched(None, environment=environment, grpc=False) as server:
        server.wait_for_startup()
        place = place_of(server, "http_vertex_ai")
        health, predict = routes.get("AIP_HEALTH_ROUTE", "/health"), routes.get("AIP_PREDICT_ROUTE", "/predict")
        eventually(lambda: call("GET", place + health).status == 200)
        check_inference(place + predict, VERTEX)
        check_inference(place + predict, VERTEX, {REDIRECT: "v2/models/echo/infer"})
        check_inference(place + predict, VERTEX, {REDIRECT: "/v2/models/echo/versions/1/infer"})

        def redirected(path, body=b""):
            return call("POST", place + predict, body, headers={REDIRECT: path})

        assert redirected("v2/models/echo").json()["name"] == "echo"
        assert redirected("v2/models/echo/ready").status == 200
        assert redirected("v2/models/none/ready").status == 400
        assert redirected("v2/repository/index", b"{}").json()[0]["name"] == "echo"
        for nowhere in ("v2/nowhere", "metrics", "predict", "v2/models/%2e%2e/config"):
            assert redirected(nowhere).status in (400, 404), nowhere
        assert "Started GRPCInferenceService" not in server.log and "[http] Started" not in server.log


def test_a_redirect_needs_what_its_call_needs(repository):
    """A restricted category is asked for where the request goes to, not where it came in."""
    with Launched(repository, "--allow-vertex-ai=true", "--vertex-ai-port=0",
                  "--http-restricted-api=model-repository:admin=secret") as server:
        server.wait_ready("echo")
        predict = f"{place_of(server, 'http_vertex_ai')}/predict"
        check_inference(predict, VERTEX)
        index = {REDIRECT: "v2/repository/index"}
        refused = call("POST", predict, headers=index)
        assert refused.status == 403 and refused.json() == {
            "error": "This API is restricted, expecting header 'admin'"}
        assert call("POST", predict, headers={**index, "admin": "secret"}).status == 200
