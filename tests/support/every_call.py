"""Every call of every frontend, by the tables of routes in the sources and the protocol's own description, so that a new one is
tested before anybody thinks of it."""

import http.client
import re

import grpc
from google.protobuf import descriptor_pb2
from support.server import ROOT, START_TIMEOUT_S
from tritonclient.grpc import service_pb2

REFUSED_TEXT = "the call needs a valid credential"


def http_routes():
    """[(method, path, category, is_probe)] of the frontend's own table, of frontends/openai and of frontends/tfserving."""
    own = (ROOT / "plugins/frontends/http/route_table.cc").read_text()
    own = re.findall(r'\{"(/v2[^"]*)",\s*(\w+),\s*ApiCategory::(\w+),\s*([^}]+)\}', own)
    assert len(own) > 35
    for path, endpoint, category, methods in own:
        for method in re.findall(r"kGet|kPost", methods):
            yield method[1:].upper(), fill(path), category_name(category), endpoint in ("kServerLive", "kServerReady")
    openai = (ROOT / "plugins/frontends/openai/openai_routes.cc").read_text()
    openai = re.findall(r'\{"(/[^"]*)",\s*([^,]+),\s*"([a-z.-]+)",', openai)
    assert len(openai) > 15
    for path, methods, category in openai:
        for method in re.findall(r"kHttp(\w+)", methods):
            yield method.upper(), path.replace("*", "x"), category, False
    tfserving = (ROOT / "plugins/frontends/tfserving/serving_routes.cc").read_text()
    categories = dict(re.findall(r'case RestAction::(\w+):\s*return "(tfserving\.\w+)"', tfserving))
    categories["kStatus"] = "tfserving.status"
    tfserving = re.findall(r'\{"([^"]*)", kHttp(\w+), RestAction::(\w+)\}', tfserving)
    assert len(tfserving) > 15
    for rest, method, action in tfserving:
        yield method.upper(), "/tfserving/v1/models" + rest.replace("*", "any", 1).replace("*", "1"), categories[action], False


def category_name(constant):
    """"kModelConfig" as "model-config"."""
    return re.sub(r"(?<!^)([A-Z])", r"-\1", constant.removeprefix("k")).lower()


def fill(path):
    for part, value in {"{m}": "any", "{v}": "1", "{r}": "r", "{n}": "region"}.items():
        path = path.replace(part, value)
    return path


def grpc_methods():
    """[(path, category, is_probe)] of the service's description, and of the services that every frontend has."""
    text = (ROOT / "plugins/frontends/common/grpc/method_list.h").read_text()
    description = descriptor_pb2.FileDescriptorProto()
    service_pb2.DESCRIPTOR.CopyToProto(description)
    categories = {}
    for path, category in re.findall(r'"(/[\w.]+/\w+)",\s*(ApiCategory::\w+|kCategory)', text):
        categories[path] = "shared-memory" if category == "kCategory" else category_name(category.split("::")[1])
    for name, category in re.findall(r'path = "(/[\w.]+/Repository\w+)";\s*\w+\.category = ApiCategory::(\w+)', text):
        categories[name] = category_name(category)
    categories["/inference.GRPCInferenceService/ModelInfer"] = "inference"
    categories["/inference.GRPCInferenceService/ModelStreamInfer"] = "inference"
    described = {f"/inference.GRPCInferenceService/{method.name}" for service in description.service for method in service.method}
    assert described <= categories.keys(), "a method of the protocol is in no table"
    probes = ("ServerLive", "ServerReady", "Check")
    return [(path, category, path.split("/")[-1] in probes) for path, category in categories.items()] + [
        ("/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", "metadata", False),
        ("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", "metadata", False)]


def headers_of(credential):
    """Of a call. credential: None, a token, or headers"""
    if credential is None or isinstance(credential, dict):
        return credential or {}
    return {"authorization": f"Bearer {credential}"}


def ask(address, method, path, token=None, body=b"{}", headers=None):
    connection = http.client.HTTPConnection(address, timeout=START_TIMEOUT_S)
    try:
        headers = {**(headers or {}), **headers_of(token)}
        connection.request(method, path, body=body if method == "POST" else None, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.getheader("WWW-Authenticate"), answer.read().decode(errors="replace")
    finally:
        connection.close()


def wrong_of(token):
    return token[:-1] + ("0" if token[-1] != "0" else "1")


def call_grpc(channel, path, token, headers=None):
    """\\returns the status code's name, and its text"""
    metadata = [*(headers or {}).items(), *headers_of(token).items()]
    try:
        if "Stream" in path.split("/")[-1] or "Reflection" in path:
            list(channel.stream_stream(path)(iter([]), metadata=metadata, timeout=START_TIMEOUT_S))
        else:
            channel.unary_unary(path)(b"", metadata=metadata, timeout=START_TIMEOUT_S)
        return "OK", ""
    except grpc.RpcError as error:
        return error.code().name, error.details()


def check_grpc_callers(channel, path, may_not, may, wrong, is_probe=False):
    """As check_callers()."""
    refusals = ("UNAUTHENTICATED", "PERMISSION_DENIED")
    for token in (None, "something", wrong):
        code, text = call_grpc(channel, path, token)
        if is_probe:
            assert code not in refusals, (token, code)
        elif token is None:
            assert (code, text) == ("UNAUTHENTICATED", REFUSED_TEXT)
        else:
            assert code in ("UNAUTHENTICATED", "RESOURCE_EXHAUSTED"), (token, code, text)
    for token in may_not:
        assert is_probe or call_grpc(channel, path, token)[0] == "PERMISSION_DENIED"
    for token in may:
        code, text = call_grpc(channel, path, token)
        # A load without a name is refused too, but not because of who asks.
        assert code not in refusals, (code, text)


def is_refused(answer):
    return answer[0] in (401, 403, 429)


def check_callers(call, may_not, may, is_probe=False, wrong=None):
    """Whoever has no credential, a wrong one, or one that does not permit the call is refused, and the others are not.

    call: (address, method, path)
    may_not, may: tokens, or headers
    is_probe: nobody is refused
    wrong: that nobody knows; None: some are made"""
    for token in (None, "something", wrong or wrong_of(may[-1])):
        answer = ask(*call, token)
        if is_probe:
            assert not is_refused(answer), (call, token, answer)
        elif token is None:
            assert answer[0] == 401 and (call[1] == "HEAD" or REFUSED_TEXT in answer[2]), (call, answer)
            assert answer[1].startswith("Bearer ") and answer[1].endswith('error="invalid_token"'), (call, answer)
        else:
            assert answer[0] in (401, 429), (call, token, answer)  # 429: too many of them in a second
    for token in may_not:
        assert is_probe or ask(*call, token)[0] == 403, (call, ask(*call, token))
    for token in may:
        assert not is_refused(ask(*call, token)), (call, ask(*call, token))
