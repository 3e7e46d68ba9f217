"""Tests of backends/tensorflow need TensorFlow, which etc/dev/test-tensorflow fetches."""

from support import left_out

collect_ignore_glob = list(left_out.of_tensorflow())
