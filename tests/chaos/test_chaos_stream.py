"""The client of a stream judges what the server said, not what its library says of a stream that has ended."""
import queue
import time

import numpy as np
import pytest
from chaos_actors import ELEMENTS, Stream, refusal_of
from tritonclient.utils import InferenceServerException


class EndedStream:
    """As tritonclient: it takes no more from the moment at which the stream ends, and the callback is called afterwards."""
    def async_stream_infer(self, *arguments, **more):
        raise InferenceServerException("The stream is no longer in valid state")


def test_a_request_to_a_stream_that_an_error_has_ended_is_judged_by_that_error():
    stream = Stream(None, None, 1)
    stream.model = "py"
    answers = queue.Queue()
    answers.put((None, InferenceServerException("the worker ended", status="StatusCode.UNAVAILABLE")))
    with pytest.raises(InferenceServerException) as raised:
        stream._ask(EndedStream(), answers, [("0", np.zeros((1, ELEMENTS), np.float32), time.monotonic())])
    assert refusal_of(raised.value).code == "UNAVAILABLE"
