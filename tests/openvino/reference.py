"""OpenVINO's own Python, run by the tests in an environment of its own.

    reference.py ir MODEL OUTPUT.xml               writes the model as IR
    reference.py infer MODEL INPUTS.npz ANSWERS.npz  runs it with the inputs of these names
"""

import sys

import numpy as np
import openvino as ov


def infer(path, inputs, answers):
    compiled = ov.Core().compile_model(path, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    given = dict(np.load(inputs, allow_pickle=False))
    outputs = compiled.create_infer_request().infer(given)
    np.savez(answers, **{port.any_name: value for port, value in outputs.items()})


def main():
    what, model, *paths = sys.argv[1:]
    if what == "ir":
        ov.save_model(ov.Core().read_model(model), paths[0], compress_to_fp16=False)
    else:
        infer(model, *paths)


if __name__ == "__main__":
    main()
