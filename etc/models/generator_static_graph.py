"""The generator as an ONNX graph of a whole generation: what static batching executes.

The batch is formed once, and every row of it is computed until the longest one has its tokens: the same step as in
generator_graph.py, in a loop inside of the graph. What is computed for a row that has ended is padding. It is there to
be compared with the one-step graph, whose rows leave the batch when they end (bench/generate).

A request gets the same tokens from both graphs.
"""

import numpy as np
from onnx import TensorProto, helper

import generator_graph
from generator_graph import MAX_BATCH_SIZE

MODEL = "generator_static"

# How long a batch waits for more requests when fewer than its preferred size are there. Clients that have their answers
# are back with the next request within milliseconds, so all of them get into the next batch, which goes when they are
# there and not after this time. It is only spent where fewer clients are left than the preferred size.
QUEUE_DELAY_US = 100_000


def config(name=MODEL, clients=MAX_BATCH_SIZE):
    """The text of config.pbtxt.

    clients: how many requests a batch waits for: those that can come, or every batch would wait in vain for more
    """
    return f"""\
name: "{name}"
backend: "onnxruntime"
max_batch_size: {MAX_BATCH_SIZE}
{generator_graph.CONFIGURED_INPUTS}\
output [
  # As many columns as the longest request of the batch has tokens; behind a request's own MAX_TOKENS they are 0.
  {{ name: "TOKENS" data_type: TYPE_INT32 dims: [ -1 ] }}
]
dynamic_batching {{ preferred_batch_size: [ {clients} ] max_queue_delay_microseconds: {QUEUE_DELAY_US} }}
instance_group [ {{ kind: KIND_CPU count: 1 }} ]
parameters [
{generator_graph.SESSION_PARAMETERS}\
]
"""


def loop_body(graph, network, hidden_size):
    """One step: (iteration, condition, hidden, last) to (condition, hidden, last, the tokens as a row of the result)."""
    body = generator_graph.Builder(graph)
    symbols = generator_graph.next_symbols(body, network, "last", "hidden", "iteration", "next_hidden")
    generator_graph.tokens_of(body, symbols, name="next_last")
    body.add("Squeeze", "next_last", body.constant([1], np.int64), name="step_tokens")
    body.add("Identity", "condition", name="next_condition")

    def scalar(name, datatype):
        return helper.make_tensor_value_info(name, datatype, [])

    value, int32, fp32 = generator_graph.value, TensorProto.INT32, TensorProto.FLOAT
    inputs = [scalar("iteration", TensorProto.INT64), scalar("condition", TensorProto.BOOL),
              value("hidden", fp32, hidden_size), value("last", int32, 1)]
    outputs = [scalar("next_condition", TensorProto.BOOL), value("next_hidden", fp32, hidden_size),
               value("next_last", int32, 1), helper.make_tensor_value_info("step_tokens", int32, ["batch"])]
    return helper.make_graph(body.nodes, "step", inputs, outputs)


def build(weights):
    """The ONNX model of the weights that generator_graph.build() takes."""
    graph = generator_graph.Builder()
    network = generator_graph.Network(graph, weights)
    tokens, length, last = generator_graph.clamped_prompt(graph)
    hidden = generator_graph.read_prompts(graph, network, tokens, length)
    most = graph.add("Cast", generator_graph.most_tokens(graph), to=TensorProto.INT64)
    steps = graph.add("ReduceMax", most, keepdims=0)
    body = loop_body(graph, network, weights["recurrent"].shape[-1])
    # ONNX Runtime 1.31 crashes if the outputs that nothing uses have no names.
    graph.nodes.append(helper.make_node("Loop", [steps, "", hidden, last], ["last_hidden", "last_of_all", "steps_by_rows"],
                                        name="generate", body=body))
    rows = graph.add("Transpose", "steps_by_rows", perm=[1, 0])
    numbers = graph.add("Range", graph.constant(0, np.int64), steps, graph.constant(1, np.int64))
    graph.add("Where", graph.add("Less", numbers, most), rows, graph.constant(0, np.int32), name="TOKENS")
    outputs = [generator_graph.value("TOKENS", TensorProto.INT32, "steps")]
    return generator_graph.model_of(
        helper.make_graph(graph.nodes, MODEL, generator_graph.request_inputs(), outputs, graph.constants))


def write(model, folder, clients=MAX_BATCH_SIZE):
    """The model's directory in a repository, under the name of the folder."""
    generator_graph.write_files(model, folder, config(folder.name, clients))
