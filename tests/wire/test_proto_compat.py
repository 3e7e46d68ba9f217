"""The .proto files against the descriptors that a released client carries.

The client was generated from the definitions of another server, so whatever
both sides know has to agree in everything that shapes bytes or names. Nothing
is registered in a descriptor pool here: both sides are compared as data, since
the two sets of files use the same names.
"""

import pathlib
import shutil
import subprocess
import sys

import pytest
from google.protobuf import descriptor_pb2, text_format
from tritonclient.grpc import model_config_pb2, service_pb2

PROTO_DIR = pathlib.Path(__file__).resolve().parents[2] / "sdk" / "proto"

FILES = {
    "model_config.proto": model_config_pb2,
    "grpc_service.proto": service_pb2,
}

# What differs on purpose, by full name, each with the reason. Only additions
# can be listed: something that both sides have must always agree, and nothing
# that the client has may be missing here.
ADDED = {
    "model_config.proto": {
        "inference.ModelMetrics":
            "histogram buckets of one model; newer than this client",
        "inference.ModelConfig.model_metrics":
            "the field that holds them; newer than this client",
        "inference.ModelEnsembling.max_inflight_requests":
            "limit on the requests of a step; newer than this client",
    },
    "grpc_service.proto": {},
}


def protoc(*arguments, **options):
    """Runs the system's protoc on our files, else that of grpcio-tools."""
    program = shutil.which("protoc")
    command = [program] if program else [sys.executable, "-m", "grpc_tools.protoc"]
    return subprocess.run([*command, f"-I{PROTO_DIR}", *arguments],
                          check=True, stdout=subprocess.PIPE, **options).stdout


def compile_protos(directory):
    """Returns the FileDescriptorProtos of our files by name."""
    target = directory / "descriptors.pb"
    protoc(f"--descriptor_set_out={target}",
           *(path.name for path in sorted(PROTO_DIR.glob("*.proto"))))
    files = descriptor_pb2.FileDescriptorSet.FromString(target.read_bytes()).file
    return {f.name: f for f in files}


@pytest.fixture(scope="session")
def ours(tmp_path_factory):
    return compile_protos(tmp_path_factory.mktemp("protos"))


@pytest.fixture(scope="session")
def theirs():
    return {name: descriptor_pb2.FileDescriptorProto.FromString(
        module.DESCRIPTOR.serialized_pb) for name, module in FILES.items()}


def describe_field(message, field):
    """Everything about a field that matters to the wire, JSON or text form."""
    oneof = ""
    if field.HasField("oneof_index"):
        oneof = message.oneof_decl[field.oneof_index].name
    return {
        "number": field.number,
        "type": descriptor_pb2.FieldDescriptorProto.Type.Name(field.type),
        "type_name": field.type_name,
        "label": descriptor_pb2.FieldDescriptorProto.Label.Name(field.label),
        "oneof": oneof,
        "optional": field.proto3_optional,
        "packed": field.options.packed if field.options.HasField("packed") else None,
        "default": field.default_value,
    }


def flatten(file):
    """Maps the full name of everything in a file to what it consists of."""
    table = {"": {"syntax": file.syntax, "package": file.package,
                  "imports": sorted(file.dependency)}}

    def add_enum(scope, enum):
        name = f"{scope}.{enum.name}"
        table[name] = {"kind": "enum", "alias": enum.options.allow_alias}
        for value in enum.value:
            table[f"{name}.{value.name}"] = {"value": value.number}

    def add_message(scope, message):
        name = f"{scope}.{message.name}"
        table[name] = {"kind": "message", "map": message.options.map_entry}
        for field in message.field:
            table[f"{name}.{field.name}"] = describe_field(message, field)
        for enum in message.enum_type:
            add_enum(name, enum)
        for nested in message.nested_type:
            add_message(name, nested)

    for enum in file.enum_type:
        add_enum(file.package, enum)
    for message in file.message_type:
        add_message(file.package, message)
    for service in file.service:
        name = f"{file.package}.{service.name}"
        table[name] = {"kind": "service"}
        for method in service.method:
            table[f"{name}.{method.name}"] = {
                "input": method.input_type, "output": method.output_type,
                "streams": (method.client_streaming, method.server_streaming)}
    return table


@pytest.mark.parametrize("file", FILES)
def test_shared_definitions_agree(ours, theirs, file):
    mine, other = flatten(ours[file]), flatten(theirs[file])
    different = {name: (mine[name], other[name])
                 for name in mine.keys() & other.keys() if mine[name] != other[name]}
    assert different == {}


@pytest.mark.parametrize("file", FILES)
def test_nothing_is_missing(ours, theirs, file):
    assert flatten(theirs[file]).keys() - flatten(ours[file]).keys() == set()


@pytest.mark.parametrize("file", FILES)
def test_additions_are_deliberate(ours, theirs, file):
    added = flatten(ours[file]).keys() - flatten(theirs[file]).keys()
    # Members of something that is new as a whole need no entry of their own.
    added = {name for name in added if name.rpartition(".")[0] not in added}
    assert added == set(ADDED[file])


def test_service_is_complete(ours):
    (service,) = ours["grpc_service.proto"].service
    assert f"{ours['grpc_service.proto'].package}.{service.name}" == \
        "inference.GRPCInferenceService"
    assert len(service.method) == 20


def test_health_protocol(ours):
    # The client does not carry this one, so it is written out here.
    table = flatten(ours["health.proto"])
    scope = "grpc.health.v1"
    status = f"{scope}.HealthCheckResponse.ServingStatus"
    assert {name: entry["value"] for name, entry in table.items()
            if "value" in entry} == {
        f"{status}.UNKNOWN": 0, f"{status}.SERVING": 1,
        f"{status}.NOT_SERVING": 2, f"{status}.SERVICE_UNKNOWN": 3}
    fields = {name: (entry["number"], entry["type"], entry["type_name"])
              for name, entry in table.items() if "number" in entry}
    assert fields == {
        f"{scope}.HealthCheckRequest.service": (1, "TYPE_STRING", ""),
        f"{scope}.HealthCheckResponse.status": (1, "TYPE_ENUM", f".{status}")}
    for method, streaming in (("Check", False), ("Watch", True)):
        assert table[f"{scope}.Health.{method}"] == {
            "input": f".{scope}.HealthCheckRequest",
            "output": f".{scope}.HealthCheckResponse",
            "streams": (False, streaming)}


def fill(message, depth=0):
    """Sets every field of a message, recursively, to something not default."""
    for field in message.DESCRIPTOR.fields:
        repeated = field.label == field.LABEL_REPEATED
        if field.message_type and field.message_type.GetOptions().map_entry:
            key = field.message_type.fields_by_name["key"]
            value = field.message_type.fields_by_name["value"]
            table = getattr(message, field.name)
            if value.message_type:
                fill(table[sample(key)], depth + 1)
            else:
                table[sample(key)] = sample(value)
        elif field.message_type:
            target = getattr(message, field.name)
            fill(target.add() if repeated else target, depth + 1)
            if not repeated:
                target.SetInParent()
        elif repeated:
            getattr(message, field.name).extend([sample(field), sample(field)])
        else:
            setattr(message, field.name, sample(field))
    return message


def sample(field):
    if field.cpp_type == field.CPPTYPE_STRING:
        return b"\x00\xff" if field.type == field.TYPE_BYTES else f"text {field.name}"
    if field.cpp_type == field.CPPTYPE_ENUM:
        return field.enum_type.values[-1].number
    if field.cpp_type == field.CPPTYPE_BOOL:
        return True
    if field.cpp_type in (field.CPPTYPE_FLOAT, field.CPPTYPE_DOUBLE):
        return 0.25
    # Odd and larger than one byte of a varint; distinct for each number.
    return 301 + 2 * field.number


@pytest.mark.parametrize("kind, file", [
    (service_pb2.ModelInferRequest, "grpc_service.proto"),
    (service_pb2.ModelInferResponse, "grpc_service.proto"),
    (service_pb2.ModelStatisticsResponse, "grpc_service.proto"),
    (service_pb2.RepositoryModelLoadRequest, "grpc_service.proto"),
    (model_config_pb2.ModelConfig, "model_config.proto"),
])
def test_client_bytes_decode_field_by_field(kind, file):
    """protoc reads the client's bytes with our files and loses nothing."""
    message = fill(kind())
    text = protoc(f"--decode={kind.DESCRIPTOR.full_name}", file,
                  input=message.SerializeToString()).decode()
    # Bytes that our files do not know come out under their number, which the
    # parser refuses because the client knows fields by name only.
    assert text_format.Parse(text, kind()) == message
