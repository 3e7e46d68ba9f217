"""One of these tests compiles llama.cpp, and runs only where that is asked for."""

from support.left_out import of_llamacpp

collect_ignore_glob = list(of_llamacpp())
