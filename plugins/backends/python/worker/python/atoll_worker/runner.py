"""Calls the model: execute() for batches, and is_ready()."""

import asyncio
import inspect
import threading

from . import layout, logger
from .bls import current_batch
from .ending import end_worker
from .errors import exception_text, traceback_text
from .logger import log_failure
from .outbox import RELEASE_RESCHEDULE
from .native import read_requests
from .response import InferenceResponse


class Runner:
    """One model, whose execute() runs in the main thread, or as a coroutine in a loop that has a thread of its own."""

    def __init__(self, session, model, module_path):
        self._session = session
        self._model = model
        self._execute = getattr(model, "execute", None)
        self._missing = f"Python model {module_path} does not implement `execute` method."
        self._loop = None
        self._loop_lock = threading.Lock()
        self._told_probe = None  # what is_ready() has failed with, as the log knows it

    def run(self, message):
        """One batch."""
        outbox = self._session.outbox
        requests, states = read_requests(self._session.link, outbox, self._session.link.block(message))
        batch = message[2]
        current_batch.set(batch)
        try:
            if self._execute is None:
                raise _Refused(self._missing)
            result = self._execute(requests)
            if type(result) is list:
                if not self._session.is_decoupled and outbox.answer(batch, states, result):
                    return
            elif inspect.iscoroutine(result):
                # The release flags of iterative sequences go with the batch's end, and the coroutine has yet to set them.
                if self._session.is_decoupled and not self._session.is_iterative:
                    self._leave_running(result, states)
                    result = None
                else:
                    result = asyncio.run_coroutine_threadsafe(result, self._event_loop()).result()
            outbox.finish(batch, states, self._checked(result, states))
        except BaseException as error:  # SystemExit and KeyboardInterrupt of the model's too: its other requests go on
            self._log(error)
            text = str(error) if isinstance(error, _Refused) else exception_text(error)
            outbox.fail(batch, states, self._failure(text))

    def _checked(self, result, states):
        """One response or None a request."""
        if self._session.is_decoupled:
            if result is not None:
                raise _Refused(f"Python model '{self._session.instance_name}' is using the decoupled mode and the execute function "
                               "must return None.")
            return [None] * len(states)
        if result is None:
            return [None] * len(states)
        if not isinstance(result, list):
            raise _Refused(f"Expected a list in the execute return, found type '{type(result)}'.")
        if len(result) != len(states):
            raise _Refused("Number of InferenceResponse objects do not match the number of InferenceRequest objects. "
                           f"InferenceRequest(s) size is:{len(states)}, and InferenceResponse(s) size is:{len(result)}\n")
        for state, response in zip(states, result):
            if response is None:
                continue
            if state.release == RELEASE_RESCHEDULE:
                raise _Refused("Expected a None object in the execute function return list for reschduled request, found type "
                               f"'{type(response)}'.")
            if not isinstance(response, InferenceResponse):
                raise _Refused("Expected an 'InferenceResponse' object in the execute function return list, found type "
                               f"'{type(response)}'.")
        return result

    def _failure(self, text):
        return f"Failed to process the request(s) for model '{self._session.instance_name}', message: {text}"

    def _log(self, error):
        if isinstance(error, _Refused):
            logger.send(logger.ERROR, self._failure(str(error)), "", 0)
        else:
            logger.send(logger.ERROR, f"execute() of '{self._session.instance_name}' failed:\n{traceback_text(error)}", "", 0)

    # --- coroutines ---

    def _event_loop(self):
        with self._loop_lock:
            if self._loop is None:
                loop = asyncio.new_event_loop()
                threading.Thread(target=_run_always, args=(loop,), name="atoll-asyncio", daemon=True).start()
                self._loop = loop
            return self._loop

    def _leave_running(self, coroutine, states):
        future = asyncio.run_coroutine_threadsafe(coroutine, self._event_loop())

        left = list(states)

        def ended(future):
            error = asyncio.CancelledError() if future.cancelled() else future.exception()
            if error is not None:
                self._log(error)
                try:
                    self._session.outbox.fail_open(left, self._failure(exception_text(error)))
                except BaseException as failure:  # their clients would wait for ever
                    end_worker("requests of a coroutine that failed cannot be answered", failure)
            left.clear()

        future.add_done_callback(ended)

    # --- is_ready() ---

    def has_probe(self):
        return hasattr(self._model, "is_ready")

    def probe(self, number):
        """Answers kProbe from a thread of its own: the model may take its time."""
        try:
            threading.Thread(target=self._answer_probe, args=(number,), name="atoll-is-ready", daemon=True).start()
        except RuntimeError as error:  # there are too many
            self._report_probe(number, error)

    def _answer_probe(self, number):
        try:
            ready = self._model.is_ready()
            if inspect.isawaitable(ready):
                ready = asyncio.run_coroutine_threadsafe(_wait_for(ready), self._event_loop()).result()
            if not isinstance(ready, bool):
                raise TypeError("is_ready() must return a boolean value")
        except BaseException as error:
            self._report_probe(number, error)
            return
        self._told_probe = None
        self._session.link.send(layout.PROBED, 0, number, b"", int(ready))

    def _report_probe(self, number, error):
        """That it is not ready. It is asked every second: the log has each failure once."""
        text = exception_text(error)
        if text != self._told_probe:
            self._told_probe = text
            log_failure(f"is_ready() of '{self._session.instance_name}' failed, and the model is not ready until it does not", error)
        try:
            self._session.link.send_json(layout.PROBED, {"error": text, "code": 1}, number)
        except Exception:  # there is no memory: without a text then, but a question that is never answered is the last one
            self._session.link.send(layout.PROBED, 0, number, b"", 0)


def _run_always(loop):
    """The loop's thread. Without it nothing that is awaited would ever come."""
    while True:
        try:
            loop.run_forever()  # returns where a coroutine has stopped it, which it had no right to
        except (SystemExit, KeyboardInterrupt) as error:  # a coroutine's, which fails with it; asyncio lets them through
            log_failure("a coroutine of the model has raised what ends programs; its event loop goes on", error)
        except BaseException as error:
            end_worker("the event loop of its coroutines has failed", error)
        if loop.is_closed():
            end_worker("the event loop of its coroutines is closed", RuntimeError("Event loop is closed"))


async def _wait_for(awaitable):
    return await awaitable


class _Refused(Exception):
    """What execute() returned cannot be used."""
