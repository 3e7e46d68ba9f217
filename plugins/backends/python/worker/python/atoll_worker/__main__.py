"""python3 -u atoll_worker FD, started by the server."""

import os
import sys


def start():
    folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    # The model's own folders come first, and no module of the package must be found without its package's name.
    sys.path[0] = folder
    if len(sys.argv) != 2 or not sys.argv[1].isdigit():
        print("usage: atoll_worker FD; the server starts it", file=sys.stderr)
        return 2
    from atoll_worker.worker import main
    fd = int(sys.argv[1])
    sys.argv = [sys.argv[0]]
    sys.path.append(sys.path.pop(0))
    return main(fd)


if __name__ == "__main__":
    sys.exit(start())
