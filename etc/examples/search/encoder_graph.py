"""The sentence encoder all-MiniLM-L6-v2 (a BERT of 6 layers) as an ONNX graph, made of its published weights."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper

LAYERS = 6
HEADS = 12
WIDTH = 384
HEAD_WIDTH = WIDTH // HEADS
EPSILON = 1e-12

# Old enough for any runtime of recent years.
OPSET = 17
IR_VERSION = 8


class Graph:
    """Nodes and weights; each method adds one operation and returns the name of its result."""

    def __init__(self):
        self.nodes = []
        self.weights = []

    def constant(self, name, array):
        self.weights.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def node(self, operator, inputs, output, **attributes):
        self.nodes.append(helper.make_node(operator, inputs, [output], **attributes))
        return output

    def model(self, name, inputs, outputs):
        graph = helper.make_graph(self.nodes, name, inputs, outputs, self.weights)
        return helper.make_model(graph, producer_name="atoll-search-example", ir_version=IR_VERSION,
                                 opset_imports=[helper.make_opsetid("", OPSET)])


def dense(graph, weights, source, target, inputs):
    """A layer's y = x W^T + b; PyTorch keeps W transposed."""
    product = graph.node("MatMul", [inputs, graph.constant(f"{target}.w", weights[f"{source}.weight"].T)], f"{target}.xw")
    return graph.node("Add", [product, graph.constant(f"{target}.b", weights[f"{source}.bias"])], target)


def normalise(graph, weights, source, target, inputs):
    scale = graph.constant(f"{target}.scale", weights[f"{source}.weight"])
    bias = graph.constant(f"{target}.bias", weights[f"{source}.bias"])
    return graph.node("LayerNormalization", [inputs, scale, bias], target, axis=-1, epsilon=EPSILON)


def embed(graph, weights):
    word = graph.node("Gather", [graph.constant("words", weights["embeddings.word_embeddings.weight"]), "input_ids"], "word")
    shape = graph.node("Shape", ["input_ids"], "shape")
    length = graph.node("Gather", [shape, graph.constant("one", np.array([1], np.int64))], "length")
    # All tokens are of the first segment, so its embedding is added to those of the positions.
    positions = weights["embeddings.position_embeddings.weight"] + weights["embeddings.token_type_embeddings.weight"][0]
    place = graph.node("Slice", [graph.constant("positions", positions), graph.constant("zero", np.array([0], np.int64)), length],
                       "place")
    return normalise(graph, weights, "embeddings.LayerNorm", "embedded", graph.node("Add", [word, place], "embedding"))


def heads_of(graph, name, tensor, order):
    split = graph.node("Reshape", [tensor, "split_shape"], f"{name}.split")
    return graph.node("Transpose", [split], f"{name}.heads", perm=order)


def attend(graph, weights, layer, hidden):
    source, name = f"encoder.layer.{layer}.attention", f"layer{layer}"
    query, key, value = (dense(graph, weights, f"{source}.self.{part}", f"{name}.{part}", hidden)
                         for part in ("query", "key", "value"))
    scores = graph.node("MatMul", [heads_of(graph, f"{name}.q", query, [0, 2, 1, 3]),
                                   heads_of(graph, f"{name}.k", key, [0, 2, 3, 1])], f"{name}.scores")
    scaled = graph.node("Div", [scores, "head_scale"], f"{name}.scaled")
    shares = graph.node("Softmax", [graph.node("Add", [scaled, "mask_bias"], f"{name}.masked")], f"{name}.shares", axis=-1)
    mixed = graph.node("MatMul", [shares, heads_of(graph, f"{name}.v", value, [0, 2, 1, 3])], f"{name}.mixed")
    together = graph.node("Transpose", [mixed], f"{name}.together", perm=[0, 2, 1, 3])
    joined = graph.node("Reshape", [together, "joined_shape"], f"{name}.joined")
    output = dense(graph, weights, f"{source}.output.dense", f"{name}.attended", joined)
    return normalise(graph, weights, f"{source}.output.LayerNorm", f"{name}.n1", graph.node("Add", [output, hidden], f"{name}.s1"))


def feed_forward(graph, weights, layer, hidden):
    source, name = f"encoder.layer.{layer}", f"layer{layer}"
    wide = dense(graph, weights, f"{source}.intermediate.dense", f"{name}.wide", hidden)
    erf = graph.node("Erf", [graph.node("Div", [wide, "root_of_two"], f"{name}.scaled_wide")], f"{name}.erf")
    half = graph.node("Mul", [wide, "half"], f"{name}.half")
    gelu = graph.node("Mul", [half, graph.node("Add", [erf, "one_float"], f"{name}.erf1")], f"{name}.gelu")
    output = dense(graph, weights, f"{source}.output.dense", f"{name}.narrow", gelu)
    return normalise(graph, weights, f"{source}.output.LayerNorm", f"{name}.n2", graph.node("Add", [output, hidden], f"{name}.s2"))


def encoder(weights):
    """input_ids and attention_mask, INT64 [batch, tokens], to hidden, FP32 [batch, tokens, 384]."""
    graph = Graph()
    for name, value in (("split_shape", np.array([0, 0, HEADS, HEAD_WIDTH], np.int64)),
                        ("joined_shape", np.array([0, 0, WIDTH], np.int64)), ("mask_axes", np.array([1, 2], np.int64)),
                        ("head_scale", np.float32(np.sqrt(HEAD_WIDTH))), ("root_of_two", np.float32(np.sqrt(2))),
                        ("half", np.float32(0.5)), ("one_float", np.float32(1)), ("far_below", np.float32(-1e4))):
        graph.constant(name, np.asarray(value))
    mask = graph.node("Cast", ["attention_mask"], "mask", to=TensorProto.FLOAT)
    absent = graph.node("Sub", ["one_float", mask], "absent")
    graph.node("Unsqueeze", [graph.node("Mul", [absent, "far_below"], "bias"), "mask_axes"], "mask_bias")
    hidden = embed(graph, weights)
    for layer in range(LAYERS):
        hidden = feed_forward(graph, weights, layer, attend(graph, weights, layer, hidden))
    graph.node("Identity", [hidden], "hidden")
    tokens = [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"]) for name in ("input_ids", "attention_mask")]
    return graph.model("encoder", tokens, [helper.make_tensor_value_info("hidden", TensorProto.FLOAT, ["batch", "tokens", WIDTH])])


def pooling():
    """The mean of the tokens' vectors, of length 1."""
    graph = Graph()
    graph.constant("last", np.array([2], np.int64))
    graph.constant("tokens_axis", np.array([1], np.int64))
    mask = graph.node("Unsqueeze", [graph.node("Cast", ["attention_mask"], "float_mask", to=TensorProto.FLOAT), "last"], "mask")
    total = graph.node("ReduceSum", [graph.node("Mul", ["hidden", mask], "masked"), "tokens_axis"], "total", keepdims=0)
    # The length does not depend on by what the total is divided.
    graph.node("LpNormalization", [total], "embedding", axis=-1, p=2)
    inputs = [helper.make_tensor_value_info("hidden", TensorProto.FLOAT, ["batch", "tokens", WIDTH]),
              helper.make_tensor_value_info("attention_mask", TensorProto.INT64, ["batch", "tokens"])]
    return graph.model("pooling", inputs, [helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ["batch", WIDTH])])
