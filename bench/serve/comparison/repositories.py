"""Writes the same models for every server, each in its way."""

import json
import pathlib
import shutil
import subprocess
import sys

import numpy as np

from . import cases
from .options import ROOT

DIGITS = ROOT / "build" / "models" / "digits"
HELD_OUT = ROOT / "build" / "digits-heldout.npz"
LARGE = 1 << 18  # elements

# Files of what Python models run, by the model's name.
PYTHON_CODE = {name: ROOT / "bench/serve/models" / file
               for name, file in zip(cases.PYTHON_MODELS, ("identity.py", "identity.py", "busy.py"))}

IDENTITY = """\
name: "{name}"
backend: "{backend}"
max_batch_size: 0
input [ {{ name: "INPUT0" data_type: TYPE_FP32 dims: [ {elements} ] }} ]
output [ {{ name: "OUTPUT0" data_type: TYPE_FP32 dims: [ {elements} ] }} ]
instance_group [ {{ kind: KIND_CPU count: {count} }} ]
{extra}"""
CHAIN = """\
name: "identity_chain"
platform: "ensemble"
input [ { name: "INPUT0" data_type: TYPE_FP32 dims: [ 16 ] } ]
output [ { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ 16 ] } ]
ensemble_scheduling { step [
  { model_name: "identity" model_version: -1
    input_map { key: "INPUT0" value: "INPUT0" } output_map { key: "OUTPUT0" value: "first" } },
  { model_name: "identity" model_version: -1
    input_map { key: "INPUT0" value: "first" } output_map { key: "OUTPUT0" value: "second" } },
  { model_name: "identity" model_version: -1
    input_map { key: "INPUT0" value: "second" } output_map { key: "OUTPUT0" value: "OUTPUT0" } }
] }
"""
CACHED = "response_cache { enable: true }\n"
MILLISECOND = 'parameters { key: "execute_delay_ms" value { string_value: "1" } }\n'
DIGITS_CONFIG = """\
name: "{name}"
backend: "{backend}"
max_batch_size: 64
input [ {{ name: "image" data_type: TYPE_FP32 dims: [ 64 ] }} ]
output [
  {{ name: "probabilities" data_type: TYPE_FP32 dims: [ 10 ] }},
  {{ name: "label" data_type: TYPE_INT64 dims: [ 1 ] }}
]
instance_group [ {{ kind: KIND_CPU count: 1 }} ]
{extra}"""
ONE_THREAD = 'parameters { key: "intra_op_thread_count" value { string_value: "1" } }\n'


def train_digits():
    """The model and held-out images, made if they are not there."""
    if not (DIGITS / "1" / "model.onnx").exists() or not HELD_OUT.exists():
        subprocess.run([sys.executable, ROOT / "etc/models/train_digits.py", "--output", DIGITS.parent,
                        "--heldout", HELD_OUT], check=True, stdout=subprocess.DEVNULL)


def digits_sample():
    """One image, FP32 [1, 64], and the ten probabilities that the graph itself gives for it."""
    import onnx
    from onnx.reference import ReferenceEvaluator
    with np.load(HELD_OUT) as data:
        image = data["images"][:1].astype(np.float32)
    outputs = ReferenceEvaluator(onnx.load(DIGITS / "1" / "model.onnx")).run(None, {"image": image})
    return image, outputs[0].ravel()


def _fresh(folder):
    folder = pathlib.Path(folder)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def _identity(name, elements=16, extra="", backend="identity", count=1):
    return IDENTITY.format(name=name, elements=elements, extra=extra, backend=backend, count=count)


def write_triton(folder, digits_backend, own_models=False, python_models=False):
    """A repository as Triton and Atoll read it. The two digits models differ in `dynamic_batching` only."""
    folder = _fresh(folder)
    configs = {name: _identity(name, elements) for name, elements in (("identity", 16), ("identity_1mb", LARGE))}
    configs["identity_chain"] = CHAIN
    if own_models:
        for name, extra in (("identity_missed", CACHED), ("identity_1ms", MILLISECOND),
                            ("identity_1ms_cached", CACHED + MILLISECOND)):
            configs[name] = _identity(name, extra=extra)
    if python_models:
        for name, elements, count in ((cases.PYTHON, 16, 1), (cases.PYTHON_LARGE, LARGE, 1), (cases.PYTHON_BUSY, 16, 8)):
            configs[name] = _identity(name, elements, backend="python", count=count)
    for name, extra in (("digits", ""), ("digits_dynamic", "dynamic_batching { }\n")):
        configs[name] = DIGITS_CONFIG.format(name=name, backend=digits_backend, extra=ONE_THREAD + extra)
    for name, config in configs.items():
        (folder / name / "1").mkdir(parents=True)
        (folder / name / "config.pbtxt").write_text(config)
        if name.startswith("digits"):
            shutil.copy(DIGITS / "1" / "model.onnx", folder / name / "1")
        if name in PYTHON_CODE:
            shutil.copy(PYTHON_CODE[name], folder / name / "1" / "model.py")
    return folder


def write_mlserver(folder):
    """Models of peers/mlserver/runtimes.py. MLServer's adaptive batching waits for a full batch up to a time; the time is
    as short as it can be said."""
    folder = _fresh(folder)
    models = {"identity": {"implementation": "runtimes.Identity"},
              "identity_1mb": {"implementation": "runtimes.Identity"},
              "digits": {"implementation": "runtimes.Digits"},
              "digits_dynamic": {"implementation": "runtimes.Digits", "max_batch_size": 64, "max_batch_time": 0.001}}
    for name, settings in models.items():
        (folder / name).mkdir()
        settings = {"name": name, "parameters": {"uri": str(DIGITS / "1" / "model.onnx")}, **settings}
        (folder / name / "model-settings.json").write_text(json.dumps(settings, indent=2))
    return folder
