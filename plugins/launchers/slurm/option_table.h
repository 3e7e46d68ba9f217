/// Options of launchers/slurm.
#pragma once

#include "atoll/core/option_table.h"

namespace atl::launchers {

inline constexpr OptionTable kSlurmOptions{
    option_string("state_directory")
        .required()
        .help(
            "Folder for the servers' logs. All nodes and this machine have it under this name, and the folders of models too."),
    option_string_map("runtimes")
        .help(
            "Command lines by name, for the 'runtime' of pools. Words may be in double quotes; {bin} is the folder of this "
            "server's programs, {repository} the folder of models, {host} the address to listen on, {id}, {pool}, "
            "{instance} say whose it is, and {key} is the server's key, for servers other than Atoll (see the plugin's README). Servers choose their ports, which are read from the lines 'Started HTTPService at' and 'Started "
            "GRPCInferenceService at' of their logs. 'atoll', unless it is in the map, is this server in explicit mode."),
    option_string("default_runtime", "atoll").help("Runtime of pools that name none."),
    option_bool("shared_memory", false)
        .help(
            "Clients may register regions of shared memory with servers. Else that needs the server's key, which only this server has, as "
            "model control, trace and log settings do always."),
    option_string("address", "loopback")
        .choices("loopback|node")
        .help(
            "What {host} is: 127.0.0.1, for a cluster on this machine, or the node's first address, which others can reach then."),
    option_string_list("sbatch_options")
        .help("Further options of sbatch, such as [\"--partition=gpu\", \"--account=serving\"]."),
    option_duration("poll_interval", "2s")
        .range("50ms", "10m")
        .help("Time between two looks at Slurm's queue."),
    option_duration("queue_timeout", "1m")
        .range("0s", "24h")
        .help(
            "A job that waits longer for nodes is cancelled, and its lease refused. 0s: it may wait for ever."),
    option_duration("command_timeout", "20s")
        .range("100ms", "10m")
        .help("Time for sbatch, squeue and scancel to answer."),
    option_bytes("max_log_size", "64MiB")
        .range("64KiB", "1TiB")
        .help("A server's log that is larger begins anew; the one before is kept beside it."),
};

}  // namespace atl::launchers
