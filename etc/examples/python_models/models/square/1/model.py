"""Answers the number n with n responses of n, from a thread for each request, so that requests are answered side by side."""

import threading

import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def initialize(self, args):
        self.threads = set()

    def execute(self, requests):
        for request in requests:
            thread = threading.Thread(target=self.answer, args=(request.get_response_sender(), request.inputs()[0].as_numpy()))
            self.threads.add(thread)
            thread.start()

    def answer(self, sender, number):
        for _ in range(number[0]):
            sender.send(pb_utils.InferenceResponse([pb_utils.Tensor("OUT", number)]))
        sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
        self.threads.discard(threading.current_thread())

    def finalize(self):
        for thread in list(self.threads):
            thread.join()
