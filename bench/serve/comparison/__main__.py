"""Started by bench/serve/run."""

import pathlib
import signal
import sys
import tempfile

from . import options as command_line


def interrupt(number, frame):
    raise KeyboardInterrupt


def main():
    options = command_line.parse()
    # However it is ended, no server stays behind.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, interrupt)
    from . import idle, machine, messages, peers, repositories, verify
    from .load import LoadGenerator
    from .report import Report
    from .runner import Runner

    facts = machine.describe(options)
    idle.make_room(options.idle_connections)
    repositories.train_digits()
    workloads = messages.workloads(*repositories.digits_sample())
    chosen = [peers.KINDS[name](options) for name in options.peers]
    for peer in chosen:
        peer.prepare()
        for case in options.cases:
            if not peer.supports(case):
                print(f"{peer.name} does not serve {case.name}", flush=True)
    # A log of each request is written while it is measured: to memory, not to a disk.
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder, \
            verify.Regions(workloads["identity_1mb"].input.bytes) as regions:
        generator = LoadGenerator(options, pathlib.Path(folder))
        runner = Runner(options, chosen, workloads, generator, regions, lambda line: print(line, flush=True))
        runner.run()
    versions = machine.versions()
    for peer in chosen:
        versions.update(peer.versions())
    page = Report(options, runner, facts, versions).write()
    print(f"results: {page}")
    if runner.faults:
        sys.exit(f"{len(runner.faults)} of the figures could not be taken; the page says why")


if __name__ == "__main__":
    try:
        main()
    except (RuntimeError, OSError) as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        sys.exit("interrupted; nothing was written")
