"""Models of CUDA kernels, and what numpy computes for them."""

import pathlib
import shutil

import numpy as np

KERNELS = pathlib.Path(__file__).resolve().parent / "kernels"
BACKEND = "cuda"  # the instance of backends/cuda
COLUMNS = 1024
INNER = 256
EPSILON = 1e-5
GRAPH_ROWS = (1, 8, 256)


def tensor(field, name, dims):
    return f'{field} [ {{ name: "{name}" data_type: TYPE_FP32 dims: [ {", ".join(map(str, dims))} ] }} ]\n'


def on_gpu(inputs, outputs, max_batch_size=0, extra=""):
    return (f'backend: "{BACKEND}"\nmax_batch_size: {max_batch_size}\n'
            + "".join(tensor("input", *one) for one in inputs) + "".join(tensor("output", *one) for one in outputs)
            + "instance_group [ { kind: KIND_GPU count: 2 } ]\n" + extra)


ADD = """
[output.SUM]
shape = ["A.shape[0]"]

[[step]]
kernel = "vector_add"
grid = ["min(ceil_div(A.count, 256), 65535)"]
block = [256]
args = ["in:A", "in:B", "out:SUM", "i64:A.count"]
"""
SOFTMAX = f"""
[[step]]
kernel = "softmax"
grid = ["B"]
block = [256]
shared = 1024
args = ["in:SCORES", "out:SHARES", "i32:{COLUMNS}"]
"""
NORM_PRODUCT = f"""
[scratch.normal]
bytes = "X.bytes"

[constant.weights]
file = "weights.bin"

[[step]]
kernel = "layer_norm"
grid = ["B"]
block = [256]
shared = 1024
args = ["in:X", "scratch:normal", "i32:{INNER}", "f32:{EPSILON}"]

[[step]]
kernel = "matrix_product"
grid = [{COLUMNS // 16}, "ceil_div(B, 16)"]
block = [16, 16]
args = ["scratch:normal", "constant:weights", "out:SCORES", "i32:B", "i32:{INNER}", "i32:{COLUMNS}"]
"""
CHAIN = f"""
platform: "ensemble"
max_batch_size: 256
{tensor("input", "X", [INNER])}{tensor("output", "SHARES", [COLUMNS])}
ensemble_scheduling {{
  step [ {{ model_name: "norm_product" model_version: -1 input_map {{ key: "X" value: "X" }}
            output_map {{ key: "SCORES" value: "scores" }} }},
         {{ model_name: "softmax" model_version: -1 input_map {{ key: "SCORES" value: "scores" }}
            output_map {{ key: "SHARES" value: "SHARES" }} }} ]
}}
"""


def weights():
    return np.random.default_rng(7).standard_normal((INNER, COLUMNS), np.float32) / np.float32(INNER ** 0.5)


def write_model(repository, name, config, pipeline=None, code="kernels.ptx", files=None):
    folder = pathlib.Path(repository) / name / "1"
    folder.mkdir(parents=True)
    (folder.parent / "config.pbtxt").write_text(f'name: "{name}"\n{config}')
    if pipeline is not None:
        (folder / "pipeline.toml").write_text(pipeline)
        shutil.copy(KERNELS / code, folder / code)
    for file, content in (files or {}).items():
        (folder / file).write_bytes(content)


def write_repository(repository, code="kernels.ptx"):
    """code: kernels.ptx, or kernels.cu where the runtime compiler is to make it when the model loads"""
    write_model(repository, "vector_add", on_gpu([("A", [-1]), ("B", [-1])], [("SUM", [-1])]), ADD, code)
    write_model(repository, "softmax", on_gpu([("SCORES", [COLUMNS])], [("SHARES", [COLUMNS])], 256), SOFTMAX, code)
    write_model(repository, "norm_product", on_gpu([("X", [INNER])], [("SCORES", [COLUMNS])], 256), NORM_PRODUCT, code,
                {"weights.bin": weights().tobytes()})
    graphs = "".join(f"graph_spec {{ batch_size: {rows} }} " for rows in GRAPH_ROWS)
    write_model(repository, "norm_product_graph",
                on_gpu([("X", [INNER])], [("SCORES", [COLUMNS])], 256, f"optimization {{ cuda {{ graphs: true {graphs}}} }}\n"),
                NORM_PRODUCT, code, {"weights.bin": weights().tobytes()})
    write_model(repository, "chain", CHAIN)


def softmax(scores):
    shares = np.exp(scores.astype(np.float64) - scores.max(axis=1, keepdims=True))
    return shares / shares.sum(axis=1, keepdims=True)


def norm_product(x):
    x = x.astype(np.float64)
    normal = (x - x.mean(axis=1, keepdims=True)) / np.sqrt(x.var(axis=1, keepdims=True) + EPSILON)
    return normal @ weights().astype(np.float64)


# By model: inputs of a size, and the outputs that are expected for them.
def examples(rows=8, seed=3):
    random = np.random.default_rng(seed)

    def sample(*shape):
        return random.standard_normal(shape, np.float32)

    a, b, scores, x = sample(rows * 1000 + 1), sample(rows * 1000 + 1), 4 * sample(rows, COLUMNS), sample(rows, INNER)
    return {"vector_add": ({"A": a, "B": b}, {"SUM": a.astype(np.float64) + b}),
            "softmax": ({"SCORES": scores}, {"SHARES": softmax(scores)}),
            "norm_product": ({"X": x}, {"SCORES": norm_product(x)}),
            "norm_product_graph": ({"X": x}, {"SCORES": norm_product(x)}),
            "chain": ({"X": x}, {"SHARES": softmax(norm_product(x))})}
