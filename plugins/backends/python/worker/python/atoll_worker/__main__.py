"""python3 -u atoll_worker FD [--all-cpus-when-ready] [--name=NAME], started by the server. Lists of processes show the name."""

import os
import sys

ALL_CPUS = "--all-cpus-when-ready"


def start():
    folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    # The model's own folders come first, and no module of the package must be found without its package's name.
    sys.path[0] = folder
    words = sys.argv[1:]
    options = [word for word in words[1:] if not word.startswith("--name=")]
    if not words or not words[0].isdigit() or options not in ([], [ALL_CPUS]):
        print(f"usage: atoll_worker FD [{ALL_CPUS}] [--name=NAME]; the server starts it", file=sys.stderr)
        return 2
    from atoll_worker.worker import main
    sys.argv = [sys.argv[0]]
    sys.path.append(sys.path.pop(0))
    return main(int(words[0]), bool(options))


if __name__ == "__main__":
    sys.exit(start())
