"""pb_utils.MetricFamily and its metrics. Changes are messages that wake nobody up; values are the server's."""

import struct
import weakref

from . import layout, session
from .arguments import text
from .errors import TritonModelException

COUNTER, GAUGE, HISTOGRAM = 0, 1, 2
_KINDS = ("COUNTER", "GAUGE", "HISTOGRAM")
_GONE = ("Invalid metric operation as the corresponding 'MetricFamily' has been deleted. Keep the 'MetricFamily' for as long as its "
         "'Metric' objects are used.")
_ALLOWED = {layout.METRIC_INCREMENT: (COUNTER, GAUGE), layout.METRIC_SET: (GAUGE,), layout.METRIC_OBSERVE: (HISTOGRAM,)}
_VERBS = {layout.METRIC_INCREMENT: ("increment", "Increment"), layout.METRIC_SET: ("set", "Set"),
          layout.METRIC_OBSERVE: ("observe", "Observe")}


def _calls():
    current = session.get()
    if not current.can_call:
        raise TritonModelException("custom metrics are only supported from 'initialize' to 'finalize'.")
    return current.calls


def _label(value):
    return str(value, "utf-8", "replace") if isinstance(value, bytes) else str(value)


def _ask(prefix, kind, content):
    try:
        return _calls().ask(kind, content)
    except TritonModelException as error:
        raise TritonModelException(prefix + str(error)) from None


class Metric:
    """One of a family, made by MetricFamily.Metric()."""

    def __init__(self, family, labels, buckets):
        content = {"family": family._number, "labels": labels, "buckets": buckets}
        self._kind = family._kind
        self._number = _ask("Error when creating Metric: ", layout.METRIC, content)
        self._link = session.get().link
        self._is_gone = False

    def increment(self, value):
        if self._kind == COUNTER and value < 0:
            raise TritonModelException("Failed to increment metric value: TRITONSERVER_METRIC_KIND_COUNTER can only be incremented "
                                       "monotonically by non-negative values.")
        self._update(layout.METRIC_INCREMENT, value)

    def set(self, value):
        self._update(layout.METRIC_SET, value)

    def observe(self, value):
        self._update(layout.METRIC_OBSERVE, value)

    def value(self):
        self._check("get")
        if self._kind == HISTOGRAM:
            raise TritonModelException("Failed to get metric value: TRITONSERVER_METRIC_KIND_HISTOGRAM does not support Value")
        bits = session.get().calls.ask_about(layout.METRIC_VALUE, self._number)
        return struct.unpack("<d", struct.pack("<Q", bits))[0]

    def _check(self, verb):
        if self._is_gone:
            raise TritonModelException(f"Failed to {verb} metric value: {_GONE}")

    def _update(self, update, value):
        verb, noun = _VERBS[update]
        self._check(verb)
        if self._kind not in _ALLOWED[update]:
            raise TritonModelException(f"Failed to {verb} metric value: TRITONSERVER_METRIC_KIND_{_KINDS[self._kind]} does not "
                                       f"support {noun}")
        self._link.out.send(layout.METRIC_UPDATE, update, 0, self._number, 0, 0, float(value), 0)

    def __del__(self):
        number = getattr(self, "_number", None)
        if number is not None and not self._is_gone and not self._link.is_forked:
            self._link.out.send(layout.METRIC_GONE, 0, 0, number, 0, 0, 0, 0)


class MetricFamily:
    """Metrics of one name, of one kind, told apart by their labels."""

    COUNTER, GAUGE, HISTOGRAM = COUNTER, GAUGE, HISTOGRAM

    def __init__(self, name, description, kind):
        if kind not in (COUNTER, GAUGE, HISTOGRAM):
            raise TritonModelException(f"Failed to create metric family. Unknown kind {kind}.")
        self._kind = kind
        self._metrics = weakref.WeakSet()
        about = {"name": text(name, "MetricFamily() expects its name"),
                 "description": text(description, "MetricFamily() expects its description"), "kind": int(kind)}
        self._number = _ask("Error when creating MetricFamily: ", layout.METRIC_FAMILY, about)
        self._link = session.get().link

    def Metric(self, labels=None, buckets=None):
        if labels is not None and not isinstance(labels, dict):
            raise TritonModelException("Failed to create metric. Labels must be a dictionary.")
        if buckets is not None and not isinstance(buckets, list):
            raise TritonModelException("Failed to create metric. Buckets must be a list.")
        if self._kind == HISTOGRAM and buckets is None:
            raise TritonModelException("Failed to create metric. Missing required buckets.")
        if self._kind != HISTOGRAM and buckets is not None:
            raise TritonModelException("Failed to create metric. Unexpected buckets found.")
        texts = {_label(key): _label(value) for key, value in (labels or {}).items()}
        metric = Metric(self, texts, None if buckets is None else [float(bound) for bound in buckets])
        self._metrics.add(metric)
        return metric

    def __del__(self):
        number = getattr(self, "_number", None)
        if number is None or self._link.is_forked:
            return
        for metric in list(self._metrics):
            metric._is_gone = True
        self._link.out.send(layout.FAMILY_GONE, 0, 0, number, 0, 0, 0, 0)
