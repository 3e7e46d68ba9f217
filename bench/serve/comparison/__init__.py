"""Runs Atoll and its peers side by side; bench/serve/run starts it, bench/README.md explains it."""
