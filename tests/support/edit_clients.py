"""Clients that ask for one thing without pause while a manifest is edited. The world that they are given says where the
server is, what the model's input is called, and when they end."""

import http.client
import json
import threading
import urllib.request

import numpy as np
import tritonclient.grpc as grpcclient

WAIT_S = 60


class Client(threading.Thread):
    """Asks for one thing without pause; failures are kept."""

    def __init__(self, world, name, transport, ask):
        super().__init__(daemon=True)
        self.world, self.label, self.transport, self.ask = world, name, transport, ask
        self.answers, self.failures = 0, []
        self.start()

    def run(self):
        while not self.world.end.is_set():
            try:
                with self.ask() as ask:
                    while not self.world.end.is_set():
                        ask()
                        self.answers += 1
                        self.world.end.wait(0.005)
            except Exception as error:
                self.failures.append(f"{self.label} over {self.transport}: {type(error).__name__}: {error}")
                self.world.end.wait(0.02)


class OverHttp:
    def __init__(self, world, model, value):
        self.world, self.model, self.value = world, model, value
        self.connection = http.client.HTTPConnection(world.http_address, timeout=WAIT_S)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.connection.close()

    def infer(self, data, parameters=None):
        body = {"inputs": [{"name": self.world.input_of(self.model), "shape": [1, 1] if len(data) == 1 else [4],
                            "datatype": "FP32", "data": data}]}
        if parameters:
            body["parameters"] = parameters
        self.connection.request("POST", f"/v2/models/{self.model}/infer", json.dumps(body))
        response = self.connection.getresponse()
        answer = response.read()
        assert response.status == 200, (response.status, answer)
        return {output["name"]: output["data"] for output in json.loads(answer)["outputs"]}

    def __call__(self):
        outputs = self.infer([2.0] * 4)
        assert outputs["OUTPUT0"] == [2.0 + self.value] * 4, outputs


class OverGrpc:
    def __init__(self, world, model, value, region=None):
        self.model, self.value, self.region, self.name = model, value, region, world.input_of(model)
        self.client = grpcclient.InferenceServerClient(world.grpc_address,
                                                       channel_args=[("grpc.use_local_subchannel_pool", 1)])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.client.close()

    def infer(self, data, **options):
        tensor = grpcclient.InferInput(self.name, [1, 1] if len(data) == 1 else [4], "FP32")
        if self.region:
            tensor.set_shared_memory(self.region, 16)
        else:
            tensor.set_data_from_numpy(np.array(data, np.float32).reshape(tensor.shape()))
        return self.client.infer(self.model, [tensor], client_timeout=WAIT_S, **options)

    def __call__(self):
        answer = self.infer([2.0] * 4).as_numpy("OUTPUT0").tolist()
        assert answer == [2.0 + self.value] * 4, answer


class Sequences(OverGrpc):
    """One sequence after the other; or, by itself, one that stays open."""
    numbers = iter(range(1, 1 << 40))

    def __call__(self):
        self.begin()
        self.step()
        self.step(end=True)

    def begin(self):
        self.number, self.total = next(self.numbers), 0
        return self.step(start=True)

    def step(self, start=False, end=False):
        self.total += 3
        answer = self.infer([3.0], sequence_id=self.number, sequence_start=start, sequence_end=end)
        assert answer.as_numpy("OUTPUT").tolist() == [[self.total]], (answer.as_numpy("OUTPUT"), self.total)
        return self


class Scrape:
    def __init__(self, world):
        self.url = f"http://{world.metrics_address}/metrics"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def __call__(self):
        with urllib.request.urlopen(self.url, timeout=WAIT_S) as page:
            assert b"nv_inference_request_success" in page.read()
