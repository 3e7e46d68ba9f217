"""Debian's Prometheus, which scrapes a server."""

import json
import re
import subprocess
import urllib.parse
import urllib.request

from support.server import ROOT
from support.waiting import eventually

PROGRAM = ROOT / "build/peers/prometheus/usr/bin/prometheus"
CONFIG = """
global:
  scrape_interval: 1s
scrape_configs:
- job_name: atoll
  static_configs:
  - targets: ["{address}"]
"""


class Prometheus:
    """Scrapes the page at `address` each second. \\param native  it asks for the protobuf format, which has native histograms.
    \\param config  the text of its configuration, with "{address}" where the address belongs"""

    def __init__(self, folder, address, native, config=CONFIG):
        self.folder, self.native = folder, native
        folder.mkdir()
        (folder / "prometheus.yml").write_text(config.replace("{address}", address))

    def __enter__(self):
        log = self.folder / "log"
        with open(log, "w") as to:
            self.process = subprocess.Popen(
                [PROGRAM, f"--config.file={self.folder}/prometheus.yml", f"--storage.tsdb.path={self.folder}/data",
                 "--web.listen-address=127.0.0.1:0", *(["--enable-feature=native-histograms"] if self.native else [])],
                stdout=to, stderr=subprocess.STDOUT)
        try:
            eventually(lambda: "Server is ready to receive web requests" in log.read_text(), say=log.read_text)
        except AssertionError:
            self.__exit__()
            raise
        self.address = re.search(r'"Listening on" address=(\S+)', log.read_text()).group(1)
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def query(self, expression):
        """The samples of an instant query, each as (labels, value)."""
        url = f"http://{self.address}/api/v1/query?" + urllib.parse.urlencode({"query": expression})
        with urllib.request.urlopen(url, timeout=30) as answer:
            result = json.load(answer)
        assert result["status"] == "success", result
        return [(sample["metric"], float(sample["value"][1])) for sample in result["data"]["result"]]
