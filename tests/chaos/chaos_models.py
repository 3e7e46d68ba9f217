"""The models that the server of a run has."""

from chaos_oracle import IN_PROGRAM
from support import models, python_models

ELEMENTS = 4

PLUS_FIVE = """\
def execute(self, requests):
    return [answer(value(request) + np.float32(5)) for request in requests]
"""
# The faults that --sabotage seeds: in the server under test, not in what judges it. Each is in its model from the start.
SABOTAGED = {
    "wrong": """\
count = 0
def execute(self, requests):
    found = []
    for request in requests:
        self.count += 1
        found.append(answer(value(request) + np.float32(6 if self.count % 100 == 99 else 5)))
    return found
""",
    "leak": """\
count = 0
kept = []
def execute(self, requests):
    self.count += len(requests)
    if self.count % 10 == 0 and len(self.kept) < 200:
        self.kept.append(os.open("/dev/null", os.O_RDONLY))
    return [answer(value(request) + np.float32(5)) for request in requests]
""",
}
GENERATE = """\
def execute(self, requests):
    for request in requests:
        sender = request.get_response_sender()
        given = pb_utils.get_input_tensor_by_name(request, "text_input").as_numpy().reshape(-1)[0].decode()
        for letter in given:
            piece = chr((ord(letter) - 96) % 26 + 97).encode()
            sender.send(answer(np.array([piece], dtype=object), "text_output"))
        self.end(sender)

count = 0
kept = []
def end(self, sender):
    self.count += 1
    if LOSES and self.count % 100 == 99:
        return self.kept.append(sender)  # one that goes ends its request, with an error
    sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
"""
GENERATE_CONFIG = """
backend: "python" model_transaction_policy { decoupled: true }
input [ { name: "text_input" data_type: TYPE_STRING dims: [ 1 ] } ]
output [ { name: "text_output" data_type: TYPE_STRING dims: [ 1 ] } ]
"""
TENSORS = (models.tensor_config("input", "INPUT0", "TYPE_FP32", [ELEMENTS]) +
           models.tensor_config("output", "OUTPUT0", "TYPE_FP32", [ELEMENTS]))


SHARED = ("echo", "add", "dyn", "pipe", "py", "slow")
# Of a model that answers one request after the other: requests wait, so their deadlines pass and they can be cancelled.
# A request can only shorten the timeout that its model has.
SLOW_MS = 4
SLOW = """
instance_group { count: 1 kind: KIND_CPU }
dynamic_batching { default_queue_policy { timeout_action: REJECT default_timeout_microseconds: 60000000 allow_timeout_override: true } }
"""


def write_shared(repository, prefix="", sabotage=None):
    """The models that both servers have, each under its name behind the prefix."""
    echo, add, dyn, pipe, py, slow = (prefix + name for name in SHARED)
    models.write_model(repository, echo, models.identity_config(echo, dims=(ELEMENTS,), extra="instance_group { count: 2 }"))
    delay = f'parameters {{ key: "execute_delay_ms" value {{ string_value: "{SLOW_MS}" }} }}'
    models.write_model(repository, slow, models.identity_config(slow, dims=(ELEMENTS,), extra=SLOW + delay))
    models.write_add(repository, add, 1)
    models.write_model(repository, dyn, 'backend: "onnxruntime" max_batch_size: 0 dynamic_batching { }',
                       files={"model.onnx": models.onnx_add(2)})
    steps = ", ".join(f'{{ model_name: "{model}" model_version: -1 input_map {{ key: "INPUT0" value: "{a}" }} '
                      f'output_map {{ key: "OUTPUT0" value: "{b}" }} }}'
                      for model, a, b in ((add, "INPUT0", "between"), (dyn, "between", "OUTPUT0")))
    models.write_model(repository, pipe, f'platform: "ensemble" {TENSORS} ensemble_scheduling {{ step [ {steps} ] }}')
    python_models.write(repository, py, SABOTAGED.get(sabotage, PLUS_FIVE), dims=(ELEMENTS,), extra="instance_group { count: 2 }")


def write_in_program(repository):
    """Names by which they are told from those of the server that faults are injected into."""
    write_shared(repository, IN_PROGRAM)
    return [IN_PROGRAM + name for name in SHARED]


def write(repository, sabotage=None):
    """All models that are loaded throughout a run."""
    write_shared(repository, sabotage=sabotage)
    models.write_model(repository, "cached", models.identity_config(
        "cached", dims=(ELEMENTS,), extra="response_cache { enable: true }"))
    models.write_model(repository, "wide", models.identity_config("wide", dims=(-1,)))
    python_models.write(repository, "gen", GENERATE.replace("LOSES", str(sabotage == "lost")), config=GENERATE_CONFIG)
    for name in ("direct", "oldest"):
        models.write_model(repository, name, models.accumulate_config(
            f"{name} {{ }} max_sequence_idle_microseconds: 600000000"), files={"model.onnx": models.onnx_accumulate()})


LOADED = (*SHARED, "wide", "cached", "gen", "direct", "oldest")
