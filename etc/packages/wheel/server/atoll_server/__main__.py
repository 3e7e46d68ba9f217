"""`python -m atoll_server` is `atoll`."""

from atoll_server import atoll

atoll()
