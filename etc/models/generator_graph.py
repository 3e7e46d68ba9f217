"""The generator as an ONNX graph: one step, which consumes tokens and makes one.

The first step of a request consumes its prompt, every further one the token that
the step before made. What has to be known from step to step goes out of the graph
and comes back in: the hidden state, the last token and the number of tokens.

A request gets the same tokens whatever else is in its batch:
- Random numbers are computed from its own seed and the number of the token.
- Matrix libraries add up a single row in another order than one of many, unless
  weights were packed before. So a copy of the first row is appended to every
  batch, and none is a single row.
"""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

MODEL = "generator"
# The same steps, and one answer with all tokens behind the last of them.
AT_ONCE_MODEL = "generator_at_once"
AT_ONCE_TOKENS = 256  # of a request, at most
MAX_BATCH_SIZE = 32
PROMPT_SIZE = 64
MOST_TOKENS = 4096  # of a request, so that none keeps its place for ever
LOWEST_TEMPERATURE = 1e-3

# Bytes that the model can make. Their number is one of whole vectors of every
# processor: no element is computed by other instructions than its neighbours.
SYMBOLS = "\n" + "".join(map(chr, range(32, 127)))

# Old enough for any runtime of recent years; nothing newer is needed.
OPSET = 17
ML_OPSET = 3
IR_VERSION = 8

# Of the random numbers, see random_share().
PRIME = 2**31 - 1
SEED_FACTOR, NUMBER_FACTOR, OFFSET = 1327217885, 742938285, 1013904223

# Of the configuration, whichever graph it is for.
CONFIGURED_INPUTS = f"""\
input [
  {{ name: "PROMPT" data_type: TYPE_INT32 dims: [ {PROMPT_SIZE} ] }},
  {{ name: "PROMPT_LENGTH" data_type: TYPE_INT32 dims: [ 1 ] }},
  {{ name: "MAX_TOKENS" data_type: TYPE_INT32 dims: [ 1 ] }},
  {{ name: "TEMPERATURE" data_type: TYPE_FP32 dims: [ 1 ] }},
  {{ name: "SEED" data_type: TYPE_INT64 dims: [ 1 ] }}
]
"""
SESSION_PARAMETERS = """\
  # A step is short: waking up a second thread would take longer than it helps.
  { key: "intra_op_thread_count" value { string_value: "1" } },
  # The length of the longest prompt in a batch decides about sizes in the graph.
  { key: "enable_mem_pattern" value { string_value: "0" } }
"""


def config(hidden_size, at_once=False):
    """The text of config.pbtxt."""
    def state(name, datatype, size, output=None):
        return f"""\
  state [ {{
    input_name: "{name}_IN" output_name: "{output or name + "_OUT"}" data_type: {datatype} dims: [ {size} ]
    initial_state {{ name: "{name.lower()}" data_type: {datatype} dims: [ {size} ] zero_data: true }}
  }} ]
"""

    outputs = f"""\
  {{ name: "TOKENS" data_type: TYPE_INT32 dims: [ {AT_ONCE_TOKENS} ] }},
""" if at_once else """\
  { name: "TOKEN" data_type: TYPE_INT32 dims: [ 1 ] },
  { name: "TEXT" data_type: TYPE_STRING dims: [ 1 ] },
"""
    return f"""\
name: "{AT_ONCE_MODEL if at_once else MODEL}"
backend: "onnxruntime"
max_batch_size: {MAX_BATCH_SIZE}
{CONFIGURED_INPUTS}\
output [
{outputs}\
  {{ name: "END" data_type: TYPE_BOOL dims: [ 1 ] }}
]
model_transaction_policy {{ decoupled: {"false" if at_once else "true"} }}
sequence_batching {{
  iterative_sequence: true
  oldest {{ max_candidate_sequences: {MAX_BATCH_SIZE} }}
  control_input [ {{
    name: "START" control [ {{ kind: CONTROL_SEQUENCE_START int32_false_true: [ 0, 1 ] }} ]
  }} ]
{state("HIDDEN", "TYPE_FP32", hidden_size)}{state("LAST", "TYPE_INT32", 1)}{state("COUNT", "TYPE_INT32", 1)}\
{state("TOKENS", "TYPE_INT32", AT_ONCE_TOKENS, output="TOKENS") if at_once else ""}}}
instance_group [ {{ kind: KIND_CPU count: 1 }} ]
parameters [
  {{ key: "iteration_end_output" value {{ string_value: "END" }} }},
{SESSION_PARAMETERS}\
]
"""


def symbols_of(text):
    """Indices in SYMBOLS; of the one for "?" where there is none."""
    unknown = SYMBOLS.index("?")
    place = {symbol: index for index, symbol in enumerate(SYMBOLS)}
    return np.array([place.get(symbol, unknown) for symbol in text], np.int32)


class Builder:
    """Nodes and constants in the making."""

    def __init__(self, outer=None):
        """:param outer: the graph that this is a branch of, whose tensors and names count here, too"""
        self.nodes = []
        self.constants = outer.constants if outer else []
        self._prefix = "branch_" if outer else ""

    def add(self, operator, *inputs, name=None, **attributes):
        """Appends a node with one output and returns its name."""
        name = name or f"{self._prefix}{operator.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [name], name=f"make_{name}", **attributes))
        return name

    def constant(self, values, datatype):
        name = f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(values, datatype), name))
        return name

    def cut(self, tensor, start, end, axis, **name):
        places = [self.constant([place], np.int64) for place in (start, end, axis)]
        return self.add("Slice", tensor, *places, **name)

    def with_first_row_again(self, tensor):
        return self.add("Concat", tensor, self.cut(tensor, 0, 1, 0), axis=0)

    def without_last_row(self, tensor, **name):
        return self.cut(tensor, 0, -1, 0, **name)


class Network:
    """The weights, which are used more than once."""

    def __init__(self, graph, weights):
        self._hidden_size = weights["recurrent"].shape[-1]
        # An empty prompt is the beginning of a line.
        symbol_of_byte = symbols_of(["\n", *map(chr, range(1, 256))])
        self._embedding = graph.constant(weights["embedding"][symbol_of_byte], np.float32)
        # Gates in the order update, reset, hidden.
        self._weights = [graph.constant(weights[name][None], np.float32) for name in ("input", "recurrent", "biases")]
        self._output = [graph.constant(weights[name], np.float32) for name in ("output", "output_bias")]

    def read(self, graph, tokens, lengths="", hidden=""):
        """The hidden state behind the bytes of each row, (rows, H).

        tokens: (rows, time); lengths: (rows,), default: all; hidden: before them, (rows, H), default: zeros
        """
        first = graph.constant([0], np.int64)
        vectors = graph.add("Gather", self._embedding, graph.add("Transpose", tokens, perm=[1, 0]), axis=0)
        before = graph.add("Unsqueeze", hidden, first) if hidden else ""
        name = f"hidden_behind_{tokens}"
        graph.nodes.append(helper.make_node("GRU", [vectors, *self._weights, lengths, before], ["", name],
                                            name=f"make_{name}", hidden_size=self._hidden_size,
                                            linear_before_reset=1))
        return graph.add("Squeeze", name, first)

    def scores(self, graph, hidden):
        """The score of each symbol as the next one, (rows, symbols)."""
        return graph.add("Gemm", hidden, *self._output)


def clamped_prompt(graph):
    """Bytes (rows, PROMPT_SIZE), their number (rows, 1) and the last of them (rows, 1) of each row."""
    def whole(value):
        return graph.constant(value, np.int32)

    length = graph.add("Clip", "PROMPT_LENGTH", whole(1), whole(PROMPT_SIZE))
    tokens = graph.add("Clip", "PROMPT", whole(0), whole(255))
    last_place = graph.add("Cast", graph.add("Sub", length, whole(1)), to=TensorProto.INT64)
    return tokens, length, graph.add("GatherElements", tokens, last_place, axis=1)


def most_tokens(graph, limit=MOST_TOKENS):
    """How many tokens each row gets, (rows, 1)."""
    return graph.add("Clip", "MAX_TOKENS", graph.constant(1, np.int32), graph.constant(limit, np.int32))


def read_prompts(graph, network, tokens, length):
    """The hidden state of each row before the last byte of its prompt, (rows, H).

    The last byte is consumed by the step that makes the first token.
    """
    length = graph.with_first_row_again(graph.add("Reshape", length, graph.constant([-1], np.int64)))
    before_last = graph.add("Sub", length, graph.constant(1, np.int32))
    longest = graph.add("Max", graph.add("ReduceMax", before_last, keepdims=1), graph.constant([1], np.int32))
    prompts = graph.add("Slice", graph.with_first_row_again(tokens), graph.constant([0], np.int32), longest,
                        graph.constant([1], np.int32))
    return graph.without_last_row(network.read(graph, prompts, before_last))


def read_new_prompts(graph, network, is_start, tokens, length):
    """The hidden state of each row before its next token, (rows, H), in a step that some rows may begin with.

    A prompt takes many times what a token does. So rows that have begun earlier do not go through it again and
    again with others, and a step that nobody begins with does not pay for it.
    """
    branch = Builder(graph)
    flat = branch.constant([-1], np.int64)
    starting = branch.add("Reshape", branch.add("NonZero", branch.add("Reshape", is_start, flat)), flat)
    hidden = read_prompts(branch, network, branch.add("Gather", tokens, starting, axis=0),
                          branch.add("Gather", length, starting, axis=0))
    places = branch.add("Unsqueeze", starting, branch.constant([1], np.int64))
    branch.add("ScatterND", "HIDDEN_IN", places, hidden, name="hidden_of_prompts")
    other = [helper.make_node("Identity", ["HIDDEN_IN"], ["hidden_as_before"])]

    def graph_of(nodes, name):
        return helper.make_graph(nodes, name, [], [helper.make_tensor_value_info(name, TensorProto.FLOAT, None)])

    any_start = graph.add("Cast", graph.add("ReduceMax", "START", keepdims=0), to=TensorProto.BOOL)
    return graph.add("If", any_start, then_branch=graph_of(branch.nodes, "hidden_of_prompts"),
                     else_branch=graph_of(other, "hidden_as_before"))


def next_symbols(graph, network, last, hidden, number, hidden_name):
    """The next symbol of each row, (rows, 1): the step of every generation. Makes the hidden state hidden_name.

    last: the byte before, (rows, 1); hidden: before it, (rows, H); number: of the token, INT64, (rows, 1) or ()
    """
    hidden = network.read(graph, graph.with_first_row_again(last), hidden=graph.with_first_row_again(hidden))
    graph.without_last_row(hidden, name=hidden_name)
    scores = graph.without_last_row(network.scores(graph, hidden))
    return choose(graph, scores, number)


def tokens_of(graph, symbols, **name):
    """The byte of each symbol."""
    return graph.add("Gather", graph.constant([ord(symbol) for symbol in SYMBOLS], np.int32), symbols, **name)


def random_share(graph, number):
    """A random number above 0 and up to 1 for each row, (rows, 1).

    x^5 modulo this prime takes every value once, and is as far from a line as it has
    to be: seeds and numbers of tokens are consecutive. No product needs 63 bits.
    """
    prime = graph.constant(PRIME, np.int64)

    def product(a, b):
        return graph.add("Mod", graph.add("Mul", a, b), prime)

    seed = product(graph.add("Mod", "SEED", prime), graph.constant(SEED_FACTOR, np.int64))
    number = product(number, graph.constant(NUMBER_FACTOR, np.int64))
    sum_ = graph.add("Add", graph.add("Add", seed, number), graph.constant(OFFSET, np.int64))
    x = graph.add("Mod", sum_, prime)
    square = product(x, x)
    fifth = product(product(square, square), x)
    # 24 bits are what FP32 holds.
    high = graph.add("Div", fifth, graph.constant(2**7, np.int64))
    high = graph.add("Cast", graph.add("Add", high, graph.constant(1, np.int64)), to=TensorProto.FLOAT)
    return graph.add("Mul", high, graph.constant(2.0**-24, np.float32))


def choose(graph, scores, number):
    """The most probable symbol, or one drawn where the temperature says so, (rows, 1)."""
    is_drawn = graph.add("Greater", "TEMPERATURE", graph.constant(LOWEST_TEMPERATURE, np.float32))
    temperature = graph.add("Where", is_drawn, "TEMPERATURE", graph.constant(1, np.float32))
    shares = graph.add("Softmax", graph.add("Div", scores, temperature), axis=1)
    running = graph.add("CumSum", shares, graph.constant(1, np.int64))
    total = graph.cut(running, len(SYMBOLS) - 1, len(SYMBOLS), 1)
    # As the limit is above 0 and at most the total, a symbol of share 0 is never drawn.
    limit = graph.add("Mul", random_share(graph, number), total)
    is_below = graph.add("Cast", graph.add("Less", running, limit), to=TensorProto.INT64)
    drawn = graph.add("ReduceSum", is_below, graph.constant([1], np.int64), keepdims=1)
    likeliest = graph.add("ArgMax", scores, axis=1, keepdims=1)
    return graph.add("Where", is_drawn, drawn, likeliest)


def value(name, datatype, size):
    return helper.make_tensor_value_info(name, datatype, ["batch", size])


def request_inputs():
    """What a request says, whichever graph answers it."""
    int32 = TensorProto.INT32
    return [value("PROMPT", int32, PROMPT_SIZE), value("PROMPT_LENGTH", int32, 1), value("MAX_TOKENS", int32, 1),
            value("TEMPERATURE", TensorProto.FLOAT, 1), value("SEED", TensorProto.INT64, 1)]


def build(weights, at_once=False):
    """The ONNX model of trained weights.

    at_once: it keeps the tokens until the last one, and has all of them as an output
    embedding (symbols, E); input (3 H, E), recurrent (3 H, H) and biases (6 H, of the
    input and the recurrent part) with gates in the order update, reset, hidden;
    output (H, symbols), output_bias (symbols,)
    """
    graph = Builder()
    network = Network(graph, weights)
    is_start = graph.add("Cast", "START", to=TensorProto.BOOL)
    tokens, length, last_of_prompt = clamped_prompt(graph)
    hidden = read_new_prompts(graph, network, is_start, tokens, length)
    last = graph.add("Where", is_start, last_of_prompt, "LAST_IN")
    number = graph.add("Cast", "COUNT_IN", to=TensorProto.INT64)
    symbol = next_symbols(graph, network, last, hidden, number, "HIDDEN_OUT")
    tokens_of(graph, symbol, name="LAST_OUT")
    graph.add("Add", "COUNT_IN", graph.constant(1, np.int32), name="COUNT_OUT")
    if at_once:
        place = graph.add("Equal", graph.constant(range(AT_ONCE_TOKENS), np.int32), "COUNT_IN")
        graph.add("Where", place, "LAST_OUT", "TOKENS_IN", name="TOKENS")
    else:
        graph.add("Identity", "LAST_OUT", name="TOKEN")
        graph.add("LabelEncoder", symbol, name="TEXT", domain="ai.onnx.ml", keys_int64s=range(len(SYMBOLS)),
                  values_strings=list(SYMBOLS), default_string="")
    limit = AT_ONCE_TOKENS if at_once else MOST_TOKENS
    graph.add("GreaterOrEqual", "COUNT_OUT", most_tokens(graph, limit), name="END")

    hidden_size = weights["recurrent"].shape[-1]
    int32, fp32 = TensorProto.INT32, TensorProto.FLOAT
    inputs = [*request_inputs(), value("START", int32, 1),
              value("HIDDEN_IN", fp32, hidden_size), value("LAST_IN", int32, 1), value("COUNT_IN", int32, 1)]
    outputs = [value("END", TensorProto.BOOL, 1), value("HIDDEN_OUT", fp32, hidden_size), value("LAST_OUT", int32, 1),
               value("COUNT_OUT", int32, 1)]
    if at_once:
        inputs.append(value("TOKENS_IN", int32, AT_ONCE_TOKENS))
        outputs.append(value("TOKENS", int32, AT_ONCE_TOKENS))
    else:
        outputs += [value("TOKEN", int32, 1), value("TEXT", TensorProto.STRING, 1)]
    return model_of(helper.make_graph(graph.nodes, MODEL, inputs, outputs, graph.constants))


def model_of(graph):
    model = helper.make_model(
        graph, producer_name="train_generator", ir_version=IR_VERSION,
        opset_imports=[helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", ML_OPSET)])
    onnx.checker.check_model(model, full_check=True)
    return model


def write(model, folder):
    """The model's directory in a repository: config.pbtxt and version 1."""
    inputs = {tensor.name: tensor for tensor in model.graph.input}
    hidden_size = inputs["HIDDEN_IN"].type.tensor_type.shape.dim[1].dim_value
    write_files(model, folder, config(hidden_size, at_once="TOKENS_IN" in inputs))


def write_files(model, folder, config_text):
    (folder / "1").mkdir(parents=True, exist_ok=True)
    (folder / "1" / "model.onnx").write_bytes(model.SerializeToString(deterministic=True))
    (folder / "config.pbtxt").write_text(config_text)
