"""python3 -u atoll_worker FD [--all-cpus-when-ready], started by the server."""

import os
import sys

ALL_CPUS = "--all-cpus-when-ready"


def start():
    folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    # The model's own folders come first, and no module of the package must be found without its package's name.
    sys.path[0] = folder
    words = sys.argv[1:]
    if not words or not words[0].isdigit() or words[1:] not in ([], [ALL_CPUS]):
        print(f"usage: atoll_worker FD [{ALL_CPUS}]; the server starts it", file=sys.stderr)
        return 2
    from atoll_worker.worker import main
    sys.argv = [sys.argv[0]]
    sys.path.append(sys.path.pop(0))
    return main(int(words[0]), len(words) == 2)


if __name__ == "__main__":
    sys.exit(start())
