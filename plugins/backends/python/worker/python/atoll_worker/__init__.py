"""The process that runs a Python model for Atoll: `python3 -u atoll_worker FD`."""
