"""docs/models.md: every field of the configuration is there, and every example is one of that field."""

import re
import subprocess

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, text_format
from support.server import ROOT

ROW = re.compile(r"^\| `([a-z0-9_.]+)` \| `(.+?)` \| ([a-z ]+) \| .*\|$", re.M)
SERVED = {"yes", "by the backend", "by the scheduler", "by admission", "no effect", "refused"}


@pytest.fixture(scope="module")
def model_config(tmp_path_factory):
    """The message class, made of the tree's own .proto file."""
    out = tmp_path_factory.mktemp("proto") / "model_config.bin"
    subprocess.run(["protoc", f"--descriptor_set_out={out}", f"-I{ROOT / 'sdk/proto'}", "model_config.proto"], check=True)
    pool = descriptor_pool.DescriptorPool()
    for file in descriptor_pb2.FileDescriptorSet.FromString(out.read_bytes()).file:
        pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("inference.ModelConfig"))


@pytest.fixture(scope="module")
def rows():
    found = ROW.findall((ROOT / "docs/models.md").read_text())
    assert len(found) > 100
    return found


def message_type(field):
    """What a field's elements are, for maps their values; None for other types."""
    type_ = field.message_type
    if type_ is not None and type_.GetOptions().map_entry:
        return type_.fields_by_name["value"].message_type
    return type_


def paths(type_, prefix=""):
    """Every field that is no message, and messages without fields."""
    for field in type_.fields:
        inner = message_type(field)
        if inner is None or not inner.fields or inner.name == "ModelQueuePolicy" and "priority" in field.name:
            yield prefix + field.name
        else:
            yield from paths(inner, f"{prefix}{field.name}.")


def test_every_field_has_one_row(model_config, rows):
    listed = [path for path, _, _ in rows]
    assert sorted(listed) == sorted(paths(model_config.DESCRIPTOR))


def values_at(message, path):
    """How often a path was written, whatever the value."""
    name, _, rest = path.partition(".")
    field = message.DESCRIPTOR.fields_by_name[name]
    value = getattr(message, name)
    if field.label == field.LABEL_REPEATED:
        elements = list(value.values() if hasattr(value, "values") else value)
    else:
        written = message.HasField(name) if field.message_type is not None else True
        elements = [value] if written else []
    return sum(values_at(element, rest) for element in elements) if rest else len(elements)


def test_every_example_sets_its_field(model_config, rows):
    for path, example, served in rows:
        assert served in SERVED, path
        message = text_format.Parse(example, model_config())
        empty_on_purpose = example.endswith("{ shape: [ ] } }")
        assert values_at(message, path) > 0 or empty_on_purpose, f"{path}: {example}"
        assert path.rpartition(".")[2] in example or path.endswith(".string_value"), path


def test_the_example_at_the_top_is_a_configuration(model_config):
    page = (ROOT / "docs/models.md").read_text()
    example = re.search(r"(?:^    .*\n)+(?=\nThe format)", page, re.M).group(0)
    config = text_format.Parse(example, model_config())
    assert config.max_batch_size == 8 and config.HasField("dynamic_batching")
