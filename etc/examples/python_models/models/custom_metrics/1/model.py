"""Metrics of the model's own beside the server's: how many requests, how large numbers, and the newest one."""

import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def initialize(self, args):
        # A family lives as long as its object: it is kept.
        labels = {"model": args["model_name"], "version": args["model_version"]}
        self.families = [pb_utils.MetricFamily("example_requests_total", "Requests.", pb_utils.MetricFamily.COUNTER),
                         pb_utils.MetricFamily("example_last_number", "The newest number.", pb_utils.MetricFamily.GAUGE),
                         pb_utils.MetricFamily("example_numbers", "Numbers that came.", pb_utils.MetricFamily.HISTOGRAM)]
        self.requests = self.families[0].Metric(labels=labels)
        self.last = self.families[1].Metric(labels=labels)
        self.numbers = self.families[2].Metric(labels=labels, buckets=[1, 10, 100])

    def execute(self, requests):
        self.requests.increment(len(requests))
        responses = []
        for request in requests:
            numbers = request.inputs()[0].as_numpy()
            for number in numbers.ravel():
                self.numbers.observe(number)
                self.last.set(number)
            responses.append(pb_utils.InferenceResponse([pb_utils.Tensor("OUT", numbers)]))
        return responses
