"""Tests of backends/openvino need OpenVINO, and some its own Python, which etc/dev/test-openvino fetches."""

from support import left_out

collect_ignore_glob = list(left_out.of_openvino())
