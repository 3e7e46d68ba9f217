"""These tests need Prometheus, which etc/dev/fetch-prometheus brings."""

from support import left_out

collect_ignore_glob = list(left_out.of_prometheus())
