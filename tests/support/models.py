"""Small models written to disk for the tests: identity configurations and ONNX graphs."""

import pathlib
import time

import numpy as np
import onnx
from onnx import TensorProto, helper

# Triton's name, ModelConfig's name, ONNX's element type, numpy's type (None: not a type of numpy's own).
TYPES = [
    ("BOOL", "TYPE_BOOL", TensorProto.BOOL, np.bool_),
    ("UINT8", "TYPE_UINT8", TensorProto.UINT8, np.uint8),
    ("UINT16", "TYPE_UINT16", TensorProto.UINT16, np.uint16),
    ("UINT32", "TYPE_UINT32", TensorProto.UINT32, np.uint32),
    ("UINT64", "TYPE_UINT64", TensorProto.UINT64, np.uint64),
    ("INT8", "TYPE_INT8", TensorProto.INT8, np.int8),
    ("INT16", "TYPE_INT16", TensorProto.INT16, np.int16),
    ("INT32", "TYPE_INT32", TensorProto.INT32, np.int32),
    ("INT64", "TYPE_INT64", TensorProto.INT64, np.int64),
    ("FP16", "TYPE_FP16", TensorProto.FLOAT16, np.float16),
    ("FP32", "TYPE_FP32", TensorProto.FLOAT, np.float32),
    ("FP64", "TYPE_FP64", TensorProto.DOUBLE, np.float64),
    ("BYTES", "TYPE_STRING", TensorProto.STRING, np.object_),
    ("BF16", "TYPE_BF16", TensorProto.BFLOAT16, None),
]

# Answers a request once for each element of IN, each after its DELAY in milliseconds.
REPEAT_CONFIG = """
name: "repeat" backend: "repeat" model_transaction_policy { decoupled: true }
input [ { name: "IN" data_type: TYPE_INT32 dims: [ -1 ] },
        { name: "DELAY" data_type: TYPE_UINT32 dims: [ -1 ] },
        { name: "WAIT" data_type: TYPE_UINT32 dims: [ 1 ] } ]
output [ { name: "OUT" data_type: TYPE_INT32 dims: [ 1 ] }, { name: "IDX" data_type: TYPE_UINT32 dims: [ 1 ] } ]
"""


def write_model(repository, name, config=None, version=1, files=None):
    """A model directory with an optional configuration text and files for its version."""
    folder = pathlib.Path(repository) / name / str(version)
    folder.mkdir(parents=True, exist_ok=True)
    if config is not None:
        (folder.parent / "config.pbtxt").write_text(config)
    for file, content in (files or {}).items():
        (folder / file).write_bytes(content)
    return folder.parent


def let_settle():
    """Until a further change of what was just written would show in the times of files."""
    time.sleep(0.05)


def write_add(repository, name, constant, version=1):
    """A model that adds a constant; its configuration comes from the file."""
    return write_model(repository, name, version=version, files={"model.onnx": onnx_add(constant)})


def tensor_config(kind, name, config_type, dims, extra=""):
    return f'{kind} [ {{ name: "{name}" data_type: {config_type} dims: [ {", ".join(map(str, dims))} ] {extra} }} ]\n'


def identity_config(name, config_type="TYPE_FP32", dims=(-1,), max_batch_size=0, pairs=1, extra=""):
    text = f'name: "{name}" backend: "identity" max_batch_size: {max_batch_size}\n'
    for i in range(pairs):
        text += tensor_config("input", f"INPUT{i}", config_type, dims)
        text += tensor_config("output", f"OUTPUT{i}", config_type, dims)
    return text + extra


def onnx_identity(element_type, shape):
    """INPUT0 -> OUTPUT0, as serialized bytes."""
    graph = helper.make_graph(
        [helper.make_node("Identity", ["INPUT0"], ["OUTPUT0"])], "identity",
        [helper.make_tensor_value_info("INPUT0", element_type, shape)],
        [helper.make_tensor_value_info("OUTPUT0", element_type, shape)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    return model.SerializeToString()


def onnx_add(constant, size=4):
    """OUTPUT0 = INPUT0 + constant, FP32: tells by its answers which of several models it is."""
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node("Add", ["INPUT0", "C"], ["OUTPUT0"])], "add",
        [value("INPUT0", TensorProto.FLOAT, [size])], [value("OUTPUT0", TensorProto.FLOAT, [size])],
        [helper.make_tensor("C", TensorProto.FLOAT, [1], [float(constant)])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    return model.SerializeToString()


def onnx_add_sub(shape=("batch", 16)):
    """OUTPUT0 = INPUT0 + INPUT1, OUTPUT1 = INPUT0 - INPUT1, FP32."""
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node("Add", ["INPUT0", "INPUT1"], ["OUTPUT0"]),
         helper.make_node("Sub", ["INPUT0", "INPUT1"], ["OUTPUT1"])], "add_sub",
        [value("INPUT0", TensorProto.FLOAT, shape), value("INPUT1", TensorProto.FLOAT, shape)],
        [value("OUTPUT0", TensorProto.FLOAT, shape), value("OUTPUT1", TensorProto.FLOAT, shape)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    return model.SerializeToString()


def onnx_ragged_lengths():
    """END = ENDS as a column; SUM = the sum of everything in ROW, for each of ENDS."""
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node("Unsqueeze", ["ENDS", "one"], ["END"]),
         helper.make_node("ReduceSum", ["ROW"], ["total"], keepdims=1),
         helper.make_node("Mul", ["END", "zero"], ["zeros"]),
         helper.make_node("Add", ["zeros", "total"], ["SUM"])], "ragged_lengths",
        [value("ROW", TensorProto.FLOAT, ["elements"]), value("ENDS", TensorProto.FLOAT, ["requests"])],
        [value("END", TensorProto.FLOAT, ["requests", 1]), value("SUM", TensorProto.FLOAT, ["requests", 1])],
        [helper.make_tensor("one", TensorProto.INT64, [1], [1]), helper.make_tensor("zero", TensorProto.FLOAT, [1], [0])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    return model.SerializeToString()


def onnx_accumulate(id_type=TensorProto.INT64):
    """OUTPUT = SUM_OUT = INPUT + SUM_IN, or INPUT where START is 1. ID = CORRID."""
    value, shape = helper.make_tensor_value_info, ["batch", 1]
    graph = helper.make_graph(
        [helper.make_node("Sub", ["one", "START"], ["goes_on"]),
         helper.make_node("Mul", ["goes_on", "SUM_IN"], ["before"]),
         helper.make_node("Add", ["INPUT", "before"], ["SUM_OUT"]),
         helper.make_node("Identity", ["SUM_OUT"], ["OUTPUT"]),
         helper.make_node("Identity", ["CORRID"], ["ID"])], "accumulate",
        [value("INPUT", TensorProto.FLOAT, shape), value("START", TensorProto.FLOAT, shape),
         value("CORRID", id_type, shape), value("SUM_IN", TensorProto.FLOAT, shape)],
        [value("OUTPUT", TensorProto.FLOAT, shape), value("SUM_OUT", TensorProto.FLOAT, shape),
         value("ID", id_type, shape)],
        [helper.make_tensor("one", TensorProto.FLOAT, [1], [1])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    return model.SerializeToString()


def accumulate_config(strategy, max_batch_size=4, extra="", id_type="TYPE_INT64"):
    """sequence_batching with one state and what onnx_accumulate() wants to be told."""
    return f"""backend: "onnxruntime" max_batch_size: {max_batch_size}
input [ {{ name: "INPUT" data_type: TYPE_FP32 dims: [ 1 ] }} ]
output [ {{ name: "OUTPUT" data_type: TYPE_FP32 dims: [ 1 ] }}, {{ name: "ID" data_type: {id_type} dims: [ 1 ] }} ]
sequence_batching {{
  {strategy}
  control_input [
    {{ name: "START" control [ {{ kind: CONTROL_SEQUENCE_START fp32_false_true: [ 0, 1 ] }} ] }},
    {{ name: "CORRID" control [ {{ kind: CONTROL_SEQUENCE_CORRID data_type: {id_type} }} ] }}
  ]
  state [ {{ input_name: "SUM_IN" output_name: "SUM_OUT" data_type: TYPE_FP32 dims: [ 1 ] }} ]
  {extra}
}}
"""


def onnx_append():
    """Keeps the values of a sequence in its state, behind a zero; answers with their number, their sum and the first."""
    value, int64 = helper.make_tensor_value_info, TensorProto.INT64
    graph = helper.make_graph(
        [helper.make_node("Concat", ["ALL_IN", "INPUT"], ["ALL_OUT"], axis=0),
         helper.make_node("Shape", ["INPUT"], ["new"]),
         helper.make_node("Shape", ["ALL_IN"], ["old_and_zero"]),
         helper.make_node("Sub", ["old_and_zero", "one"], ["old"]),
         helper.make_node("Add", ["old", "new"], ["COUNT"]),
         helper.make_node("ReduceSum", ["ALL_OUT"], ["SUM"], keepdims=1),
         helper.make_node("Slice", ["ALL_OUT", "one", "two"], ["FIRST"])], "append",
        [value("INPUT", int64, ["new"]), value("ALL_IN", int64, ["old"])],
        [*(value(name, int64, [1]) for name in ("COUNT", "SUM", "FIRST")), value("ALL_OUT", int64, ["all"])],
        [helper.make_tensor("one", int64, [1], [1]), helper.make_tensor("two", int64, [1], [2])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    return model.SerializeToString()


def append_config():
    """sequence_batching with a state that grows where it is."""
    outputs = ", ".join(f'{{ name: "{name}" data_type: TYPE_INT64 dims: [ 1 ] }}' for name in ("COUNT", "SUM", "FIRST"))
    return f"""backend: "onnxruntime" max_batch_size: 0
input [ {{ name: "INPUT" data_type: TYPE_INT64 dims: [ -1 ] }} ]
output [ {outputs} ]
sequence_batching {{
  max_sequence_idle_microseconds: 60000000
  state [ {{ input_name: "ALL_IN" output_name: "ALL_OUT" data_type: TYPE_INT64 dims: [ -1 ]
            use_same_buffer_for_input_output: true use_growable_memory: true }} ]
}}
instance_group [ {{ count: 2 }} ]
"""


def sample(numpy_type, shape, seed=1):
    """Random values of a type: the whole range for integers, finite and not for floats."""
    random = np.random.default_rng(seed)
    if numpy_type is np.bool_:
        return random.integers(0, 2, shape).astype(np.bool_)
    if numpy_type is np.object_:
        count = int(np.prod(shape))
        texts = [random.bytes(int(random.integers(0, 20))) for _ in range(count)]
        array = np.empty(count, dtype=np.object_)
        array[:] = texts
        return array.reshape(shape)
    if np.issubdtype(numpy_type, np.integer):
        info = np.iinfo(numpy_type)
        return random.integers(info.min, info.max, shape, dtype=numpy_type, endpoint=True)
    values = random.standard_normal(shape).astype(numpy_type)
    if values.size > 2:
        values.flat[0], values.flat[1] = np.nan, np.inf
    return values
