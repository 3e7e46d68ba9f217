"""Models for the tests of backends/openvino, in formats that need no framework to write them."""

import struct

import onnx
from onnx import TensorProto, helper
from support.server import BUILD

ENGINE = BUILD / "lib/atoll/engines/openvino"
OPENVINO = ('plugin.openvino.use="backends/openvino"',)


def add_model(repository, name, file_name, content, config=None, parameters=None, version=1):
    """A model version of one file, or of a folder if the content is a dict of files. config: None: there is no config.pbtxt"""
    folder = repository / name / str(version)
    folder.mkdir(parents=True, exist_ok=True)
    files = {f"{file_name}/{inner}": data for inner, data in content.items()} if isinstance(content, dict) else {file_name: content}
    for inner, data in files.items():
        path = folder / inner
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    text = config or ""
    for key, value in (parameters or {}).items():
        text += f'parameters {{ key: "{key}" value {{ string_value: "{value}" }} }}\n'
    if config is not None or parameters:
        (repository / name / "config.pbtxt").write_text(text)


def onnx_model(nodes, inputs, outputs, initializers=()):
    """Bytes of an ONNX file. inputs, outputs: (name, element type, shape)"""
    graph = helper.make_graph(nodes, "graph", [helper.make_tensor_value_info(*one) for one in inputs],
                              [helper.make_tensor_value_info(*one) for one in outputs], list(initializers))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.checker.check_model(model)
    return model.SerializeToString()


def onnx_identity(element_type, shape):
    return onnx_model([helper.make_node("Identity", ["INPUT0"], ["OUTPUT0"])], [("INPUT0", element_type, shape)],
                      [("OUTPUT0", element_type, shape)])


def onnx_add_sub(shape=("batch", 3)):
    tensors = [(name, TensorProto.FLOAT, shape) for name in ("INPUT0", "INPUT1", "OUTPUT0", "OUTPUT1")]
    return onnx_model([helper.make_node("Add", ["INPUT0", "INPUT1"], ["OUTPUT0"]),
                       helper.make_node("Sub", ["INPUT0", "INPUT1"], ["OUTPUT1"])], tensors[:2], tensors[2:])


def onnx_dense(weights, rows="batch"):
    """OUTPUT0 = relu(INPUT0 @ weights)"""
    weight = helper.make_tensor("weights", TensorProto.FLOAT, weights.shape, weights.flatten().tolist())
    return onnx_model([helper.make_node("MatMul", ["INPUT0", "weights"], ["product"]),
                       helper.make_node("Relu", ["product"], ["OUTPUT0"])],
                      [("INPUT0", TensorProto.FLOAT, [rows, weights.shape[0]])],
                      [("OUTPUT0", TensorProto.FLOAT, [rows, weights.shape[1]])], [weight])


# Protobuf messages of TensorFlow, of which so few fields are needed that they are written by hand.


def varint(value):
    value &= (1 << 64) - 1
    out = b""
    while value > 0x7F:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def field(number, value):
    """A field of a message: an int, or bytes or a text with their length."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


TF_FLOAT = 1


def tf_shape(dims):
    return b"".join(field(2, field(1, dim)) for dim in dims)


def tf_node(name, op, inputs=(), **attributes):
    """A NodeDef. attributes: bytes of AttrValues"""
    node = field(1, name) + field(2, op) + b"".join(field(3, one) for one in inputs)
    return node + b"".join(field(5, field(1, key) + field(2, value)) for key, value in attributes.items())


def tf_type(number):
    return field(6, number)


def tf_constant(name, dims, values):
    tensor = field(1, TF_FLOAT) + field(2, tf_shape(dims)) + field(4, struct.pack(f"<{len(values)}f", *values))
    return tf_node(name, "Const", dtype=tf_type(TF_FLOAT), value=field(8, tensor))


def tf_graph(scale=2.0, width=3):
    """A GraphDef: y = x * scale, both FP32 [-1, width]"""
    nodes = [tf_node("x", "Placeholder", dtype=tf_type(TF_FLOAT), shape=field(7, tf_shape([-1, width]))),
             tf_constant("scale", [], [scale]), tf_node("y", "Mul", ["x", "scale"], T=tf_type(TF_FLOAT))]
    return b"".join(field(1, node) for node in nodes) + field(4, field(1, 1987))


def tf_saved_model(scale=2.0, width=3):
    """The files of a SavedModel of tf_graph(), whose signature calls its tensors `features` and `scores`."""

    def tensor(name):
        return field(1, name) + field(2, TF_FLOAT) + field(3, tf_shape([-1, width]))

    signature = (field(1, field(1, "features") + field(2, tensor("x:0"))) +
                 field(2, field(1, "scores") + field(2, tensor("y:0"))) + field(3, "tensorflow/serving/predict"))
    meta_graph = (field(1, field(4, "serve") + field(5, "2.21.0")) + field(2, tf_graph(scale, width)) +
                  field(5, field(1, "serving_default") + field(2, signature)))
    return {"saved_model.pb": field(1, 1) + field(2, meta_graph)}
