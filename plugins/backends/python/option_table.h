/// Options of backends/python.
#pragma once

#include "atoll/core/option_table.h"

namespace atl::python {

inline constexpr OptionTable kPythonOptions{
    option_string("interpreter", "python3")
        .help(
            "Program that runs models: a path, or a name that is looked for in PATH. CPython 3.9 or later."),
    option_duration("execute_timeout", "0s")
        .range("0s", "24h")
        .help("How long one execute() may take; then its worker is killed and started anew. 0s: for ever."),
    option_duration("start_timeout", "10m")
        .range("0s", "24h")
        .help("How long a worker may take from its start until initialize() has returned. 0s: for ever."),
    option_duration("stop_timeout", "20s")
        .range("0s", "1h")
        .help("How long finalize() may take; then the worker is killed."),
    option_bytes("shared_memory", "0")
        .help(
            "Most memory that one worker shares with the server, for the tensors of requests and responses. 0: any."),
    option_bytes("memory_limit", "0")
        .help("Most memory of one worker. With 'cgroup' this is memory in use, otherwise address "
              "space (RLIMIT_AS), of which libraries reserve more than they use. 0: no limit."),
    option_int("open_files", 0)
        .range(0, 1048576)
        .help("Most file descriptors of one worker. 0: as many as the server."),
    option_int("processes", 0)
        .range(0, 1048576)
        .help("Most processes and threads of one worker (with 'cgroup', or as root), otherwise of the "
              "workers' user (RLIMIT_NPROC). 0: no limit."),
    option_string("cpu_cores", "")
        .help("CPU cores that workers may use, such as 0-3,8; empty: all of the server's."),
    option_string("run_as_user", "")
        .help("User that workers run as, by name or number, if the server may choose; empty: the server's."),
    option_string("cgroup", "")
        .help("Folder of control groups, version 2, that is delegated to the server: each worker gets "
              "a group for memory, processes and CPU time. Empty: resource limits are used."),
    option_bool("watch", false)
        .help(
            "Development mode: a model whose program is saved is loaded anew; if that fails, what was loaded before goes on."),
    option_string_list("directories")
        .help("Directories with <backend>/model.py for backends that are Python programs, as Triton's "
              "--backend-directory."),
    option_string_list("environment")
        .help("More environment variables that workers get; '*' at the end matches any ending."),
};

}  // namespace atl::python
