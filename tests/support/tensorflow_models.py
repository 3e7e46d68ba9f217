"""SavedModels and GraphDefs of a few nodes, written without TensorFlow, for the tests of backends/tensorflow."""

import hashlib
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import zipfile

from support.server import BUILD, ROOT

LIBRARY = BUILD / "lib/atoll/engines/tensorflow/libtensorflow_cc.so.2"
BASIC_PITCH_SHA256 = "738adb503aae7fdfc7d1e1511aa0ce35052315f260a19531ef4c356708425db0"
FLOAT, DOUBLE, INT32, UINT8, INT16, INT8, TEXT, INT64, BOOL = 1, 2, 3, 4, 5, 6, 7, 9, 10
BF16, UINT16, FP16, UINT32, UINT64 = 14, 17, 19, 22, 23


def varint(value):
    value &= 2**64 - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def number(field, value):
    return varint(field << 3) + varint(value)


def message(field, content):
    content = content.encode() if isinstance(content, str) else content
    return varint(field << 3 | 2) + varint(len(content)) + content


def entry(field, key, value):
    """Of a map with texts as keys."""
    return message(field, message(1, key) + message(2, value))


def shape(dims):
    """TensorShapeProto. dims: None: of unknown rank"""
    return number(3, 1) if dims is None else b"".join(message(2, number(1, dim)) for dim in dims)


def node(name, op, inputs=(), **attributes):
    """A NodeDef as a field of a GraphDef. attributes: AttrValue messages"""
    content = message(1, name) + message(2, op) + b"".join(message(3, one) for one in inputs)
    return message(1, content + b"".join(entry(5, key, value) for key, value in attributes.items()))


def dtype(value):
    return number(6, value)


def placeholder(name, type_, dims):
    return node(name, "Placeholder", dtype=dtype(type_), shape=message(7, shape(dims)))


def identity(name, input_, type_):
    return node(name, "Identity", [input_], T=dtype(type_))


def binary(name, op, a, b, type_=FLOAT):
    return node(name, op, [a, b], T=dtype(type_))


def constant(name, dims, values, type_=FLOAT):
    content = struct.pack(f"<{len(values)}{'f' if type_ == FLOAT else 'i'}", *values)
    return node(name, "Const", dtype=dtype(type_), value=message(8, number(1, type_) + message(2, shape(dims)) + message(4, content)))


def variable(name, dims):
    return node(name, "VariableV2", dtype=dtype(FLOAT), shape=message(7, shape(dims)), container=message(2, ""),
                shared_name=message(2, ""))


def assign(name, variable_, value):
    return node(name, "Assign", [variable_, value], T=dtype(FLOAT), use_locking=number(5, 1), validate_shape=number(5, 1))


def tensor(name, place, type_, dims):
    """An entry of a signature's inputs or outputs."""
    return name, message(1, place) + number(2, type_) + message(3, shape(dims))


def signature(name, inputs, outputs):
    return entry(5, name, b"".join(entry(1, *one) for one in inputs) + b"".join(entry(2, *one) for one in outputs) +
                 message(3, "tensorflow/serving/predict"))


def meta_graph(nodes, signatures, tags=("serve",)):
    info = b"".join(message(4, tag) for tag in tags) + message(5, "2.21.0")
    return message(2, message(1, info) + message(2, graph_def(nodes)) + b"".join(signatures))


def graph_def(nodes):
    versions = number(1, 2000)  # of the format, which says that ops of today are meant
    return b"".join(nodes) + message(4, versions)


def saved_model(*meta_graphs):
    return number(1, 1) + b"".join(meta_graphs)


def identity_model(type_, dims):
    return saved_model(meta_graph([placeholder("x", type_, dims), identity("y", "x", type_)], [
        signature("serving_default", [tensor("INPUT", "x:0", type_, dims)], [tensor("OUTPUT", "y:0", type_, dims)])]))


def add_saved_model(repository, name, content, config=""):
    """config: of config.pbtxt, beside the platform; None: there is no such file"""
    folder = repository / name / "1" / "model.savedmodel"
    folder.mkdir(parents=True)
    (folder / "saved_model.pb").write_bytes(content)
    if config is not None:
        (repository / name / "config.pbtxt").write_text(f'platform: "tensorflow_savedmodel"\n{config}')
    return folder.parent


def add_graph_def(repository, name, nodes, config):
    folder = repository / name / "1"
    folder.mkdir(parents=True)
    (folder / "model.graphdef").write_bytes(graph_def(nodes))
    (repository / name / "config.pbtxt").write_text(f'platform: "tensorflow_graphdef"\n{config}')


def basic_pitch_folder():
    """The folder of one net as SavedModel with variables (`nmp`), TFLite and ONNX (`nmp.onnx`), out of the package basic-pitch; fetched
    with the first call."""
    folder = ROOT / "build/basic_pitch"  # build/models is the repository of the quickstart's server
    if not folder.exists():
        with tempfile.TemporaryDirectory() as work:
            subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
                            "--only-binary=:all:", "--dest", work, "basic-pitch==0.4.0"], check=True)
            [wheel] = pathlib.Path(work).glob("*.whl")
            assert hashlib.sha256(wheel.read_bytes()).hexdigest() == BASIC_PITCH_SHA256
            with zipfile.ZipFile(wheel) as archive:
                inside = "basic_pitch/saved_models/icassp_2022/"
                archive.extractall(work, [name for name in archive.namelist() if name.startswith(inside)])
            folder.parent.mkdir(parents=True, exist_ok=True)
            shutil.copytree(pathlib.Path(work) / inside, folder)
    return folder
