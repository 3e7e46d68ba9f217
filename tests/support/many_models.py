"""Repositories of many models of the smallest kind, for benchmarks: identity, with one instance."""

import json

CONFIG = """backend: "identity"
max_batch_size: 8
input [ { name: "INPUT0" data_type: TYPE_FP32 dims: [ 16 ] } ]
output [ { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ 16 ] } ]
instance_group [ { kind: KIND_CPU count: 1 } ]
"""
# The body of an infer call of any of them.
REQUEST = json.dumps({"inputs": [{"name": "INPUT0", "shape": [1, 16], "datatype": "FP32", "data": [0] * 16}]}).encode()


def make_repository(folder, models):
    """A repository in a folder, which may be there, of models "identity_00000" and so on; the folder."""
    folder.mkdir(exist_ok=True)
    for number in range(models):
        model = folder / f"identity_{number:05}"
        (model / "1").mkdir(parents=True)
        (model / "config.pbtxt").write_text(CONFIG)
    return folder
