"""Responses on their way to the server, and what is known of each request until its last one."""

import collections

from . import layout
from .errors import TritonError, TritonModelException
from .guard import Guard
from .native import batch_time, send_answers
from .response import InferenceResponse
from .wire import Writer

RELEASE_ALL = 1
RELEASE_RESCHEDULE = 2
_NEWS_MAX = 16  # a model may make names up

_RESPONSE = layout.RESPONSE


def encode(responses, link):
    """(writer, records) of [(handle, flags, response or None, state or None)]."""
    writer = Writer(8 + 48 * len(responses))
    heads = []
    first = 0
    for handle, flags, response, state in responses:
        error = parameters = (0, 0)
        code = count = 0
        if response is not None:
            flags |= layout.HAS_RESPONSE
            if response._parameters:
                parameters = writer.add_text(response._parameters)
            if response._error is not None:
                flags |= layout.HAS_ERROR
                code = response._error.code()
                error = writer.add_text(response._error.message())
            else:
                for tensor in _wanted(response._tensors, state):
                    writer.add_tensor(tensor, link)
                    count += 1
        heads.append((handle, flags, code, error, parameters, count, first))
        first += count
    writer.layout()
    records = [layout.RESPONSES_HEAD.pack(len(responses), 8)]
    for handle, flags, code, error, parameters, count, first in heads:
        records.append(_RESPONSE.pack(handle, flags, code, *writer.text(error), *writer.text(parameters), count,
                                      writer.tensor_records_at(first), 0))
    return writer, records


# Outputs that nobody asked for are not even copied; the server drops them anyway, and tells of those that nobody can ask for.
def _wanted(tensors, state):
    if state is None or not 0 < state.output_count < len(tensors):
        return tensors
    names = state.wanted_outputs()
    return [tensor for tensor in tensors if tensor._name in names or state.outbox.is_news(tensor._name)]


class Outbox:
    """One lock orders what is known here with what the server hears."""

    def __init__(self, link, session):
        self._link = link
        self._session = session
        self._lock = Guard()
        self._abandoned = collections.deque()
        self._answers = link.arena.answers
        self._told_outputs = set()

    def is_news(self, name):
        """Of an output that the configuration does not have, the first time."""
        known, told = self._session.output_names, self._told_outputs
        if not known or name in known or name in told or len(told) == _NEWS_MAX:
            return False
        told.add(name)
        return True

    def send(self, state, response, flags):
        """A sender's send()."""
        place = None
        with self._lock:
            self._check(state, response, flags)
            last = bool(flags)
            writer, records = encode([(state.handle, layout.LAST if last else 0, response, state)], self._link)
            place = writer.send(self._link, layout.RESPONSES, 0, 0, records)
            state.sent += response is not None
            state.is_closed = last
        if writer.has_elsewhere():
            place[0].region.wait_released(place[1])
        self._report_abandoned()

    def _check(self, state, response, flags):
        if flags not in (0, 1):
            raise TritonModelException("Unable to send response. Unsupported flag provided.")
        if response is None and flags == 0:
            raise TritonModelException("Inference Response object must be provided when the response flags is set to zero.")
        if state.is_closed:
            raise TritonModelException("Unable to send response. Response sender has been closed.")
        if not self._session.is_decoupled:
            if response is not None and state.sent:
                raise TritonModelException("Unable to send response. Non-decoupled model cannot send more than one response.")
            if response is None and not state.sent:
                raise TritonModelException("Unable to send response. Non-decoupled model cannot send complete final before "
                                           "sending a response.")

    def answer(self, batch, states, responses):
        """End of a batch that returned a list: what is most frequent costs least. False: it has to be finish()."""
        if not send_answers(self._link.out, self._answers, self._lock, batch, states, responses):
            return False
        if self._abandoned:
            self._report_abandoned()
        return True

    def finish(self, batch, states, responses):
        """End of a batch. `responses`: one a request, or None for those that have none (yet)."""
        with self._lock:
            self._finish_all(batch, states, responses)
        try:
            self._link.arena.prepare_answers()
        except TritonModelException:
            pass  # there is no memory left: it goes on like this
        self._report_abandoned()

    def _finish_all(self, batch, states, responses):
        answers = []
        for state, response in zip(states, responses):
            if state.is_closed:
                answers.append((state.handle, layout.LAST, None, None))
            elif state.release == RELEASE_RESCHEDULE and response is None:
                answers.append((state.handle, layout.RESCHEDULE, None, None))
            elif response is not None:
                answers.append((state.handle, layout.LAST, response, state))
            else:
                answers.append((state.handle, 0, None, None))
        writer, records = encode(answers, self._link)
        writer.send(self._link, layout.RESPONSES, layout.EXECUTE_RETURNED, batch, records, batch_time())
        for state, answer in zip(states, answers):
            state.is_closed = answer[1] != 0
            state.is_running = False

    def fail(self, batch, states, text, code=TritonError.INTERNAL):
        """The same for a batch that failed: the error goes to all that have had no last response."""
        response = InferenceResponse._of([], TritonError(text, code), "")
        with self._lock:
            answers = [(state.handle, layout.LAST, None if state.is_closed else response, None) for state in states]
            writer, records = encode(answers, self._link)
            writer.send(self._link, layout.RESPONSES, layout.EXECUTE_RETURNED, batch, records, batch_time())
            for state in states:
                state.is_closed = True
                state.is_running = False
                state.release = RELEASE_ALL
        self._report_abandoned()

    def fail_open(self, states, text):
        """Requests of a batch whose end has been told: what its coroutine left open fails."""
        response = InferenceResponse._of([], TritonError(text), "")
        with self._lock:
            still = [state for state in states if not state.is_closed]
            if still:
                writer, records = encode([(state.handle, layout.LAST, response, None) for state in still], self._link)
                writer.send(self._link, layout.RESPONSES, 0, 0, records)
            for state in still:
                state.is_closed = True
        self._report_abandoned()

    def abandon(self, handle):
        """Comes from a destructor, which may run anywhere: also inside of what holds the lock."""
        if not self._link.is_forked:
            self._abandoned.append(handle)
            self._report_abandoned()

    def _report_abandoned(self):
        while self._abandoned and self._lock.try_enter():
            handle = None
            try:
                handle = self._abandoned.popleft()
                response = InferenceResponse._of([], TritonError(
                    f"Model '{self._session.instance_name}' has dropped the request without a final response."), "")
                writer, records = encode([(handle, layout.LAST, response, None)], self._link)
                writer.send(self._link, layout.RESPONSES, 0, 0, records)
            except IndexError:
                pass  # another thread was quicker
            except TritonModelException:  # there is no memory now: it is told with the next answer
                self._abandoned.appendleft(handle)
                return
            finally:
                self._lock.leave()
