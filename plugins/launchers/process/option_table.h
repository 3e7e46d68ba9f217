/// Options of launchers/process.
#pragma once

#include "atoll/core/option_table.h"

namespace atl::launchers {

inline constexpr OptionTable kProcessOptions{
    option_string("state_directory")
        .required()
        .help("Folder for the servers' logs, and by which those that run are found again after a restart."),
    option_string_map("runtimes")
        .help(
            "Command lines by name, for the 'runtime' of pools. Words may be in double quotes; {bin} is the folder of this server's "
            "programs, {repository} the folder of models, {http_port} and {grpc_port} are free ports, {id}, "
            "{pool}, {instance} say whose it is, and {key} is the server's key, for servers other than Atoll (see the plugin's README). Without ports the addresses are read from the lines 'Started HTTPService "
            "at' and 'Started GRPCInferenceService at' of its log. 'atoll', unless it is in the map, is this server in explicit mode."),
    option_string("default_runtime", "atoll").help("Runtime of pools that name none."),
    option_bool("shared_memory", false)
        .help(
            "Clients may register regions of shared memory with servers. Else that needs the server's key, which only this server has, as "
            "model control, trace and log settings do always."),
    option_string("cpu_cores", "")
        .help(
            "CPU cores that servers may have for themselves, such as 2-15,18; empty: those that this process may use."),
    option_string_list("gpus").help(
        "GPUs that servers may have, as CUDA_VISIBLE_DEVICES names them: numbers or UUIDs."),
    option_bytes("memory", "0").help("Memory that all servers together may ask for. 0: that of the machine."),
    option_string("cgroup", "")
        .help(
            "Folder of a control group that this process may make groups in, by which the memory of servers is limited; empty: "
            "what they ask for is counted and not enforced."),
    option_duration("stop_timeout", "30s")
        .range("0s", "1h")
        .help("Time for a server to end by itself when it is told to; then it is killed."),
    option_bool("end_with_server", false)
        .help(
            "Servers end with this one, though not with a reload. Else they go on serving, and are found again when it is back."),
    option_bytes("max_log_size", "64MiB")
        .range("64KiB", "1TiB")
        .help("A server's log that is larger begins anew; the one before is kept beside it."),
};

}  // namespace atl::launchers
