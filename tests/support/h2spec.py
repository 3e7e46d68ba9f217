"""h2spec, a conformance test of HTTP/2, against a server's gRPC address."""

import re
import subprocess

from .go_programs import go_program

# A call without a message, which is all that it knows to send, is answered at once whatever its path.
PATH = "/inference.GRPCInferenceService/ServerLive"
TIMEOUT_S = 120
CASE = re.compile(r'<testcase package="([^"]+)" classname="([^"]+)"[^>]*>(?:</testcase>|\s*<(\w+))')


class Outcome:
    """Of one run. Cases are named as h2spec's command line does: "http2/5.1/8"."""

    def __init__(self, report):
        self.titles = {}
        self.failures = set()
        places = {}
        for section, title, fault in CASE.findall(report):
            places[section] = places.get(section, 0) + 1
            case = f"{section}/{places[section]}"
            self.titles[case] = title
            if fault in ("error", "failure"):
                self.failures.add(case)


def h2spec(server, folder, *cases, patience_s=1):
    """
    cases: none: all, the strict ones too
    patience_s: for each answer; a case that wants one where none comes takes so long
    """
    host, port = server.address.rsplit(":", 1)
    report = folder / "h2spec.xml"
    done = subprocess.run([go_program("h2spec"), *cases, "--strict", "-h", host, "-p", port, "-P", PATH,
                           "-o", str(patience_s), "-j", str(report)], capture_output=True, text=True, timeout=TIMEOUT_S)
    # What it was sent stands there as it is, and may not be XML.
    outcome = Outcome(report.read_text(errors="replace"))
    assert outcome.titles and (done.returncode == 0) == (not outcome.failures), done.stdout + done.stderr
    return outcome
