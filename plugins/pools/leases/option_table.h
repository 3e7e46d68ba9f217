/// Options of pools/leases.
#pragma once

#include "atoll/core/option_table.h"

namespace atl::pools {

inline constexpr OptionTable kPoolOptions{
    option_string("state_directory")
        .required()
        .help(
            "Folder for pools.sqlite, in which pools and leases outlive the process, and for the servers' folders of models."),
    option_string_list("sources").required().help(
        "Folders that leased models may come from, with those in them, such as [\"/srv/models\"]."),
    option_string_map("pools").help(
        "Pools that are there from the start, by name, each in JSON as POST /v2/pools takes it: fraud = '{\"quota\": 8, "
        "\"max_instances\": 4}'. min_instances and max_instances may be changed later, the rest only of a pool that was deleted."),
    option_duration("default_duration", "1h").at_least("1s").help("Duration of leases that do not name one."),
    option_duration("min_duration", "1s").at_least("1ms").help("Leases for a shorter time are refused."),
    option_duration("max_duration", "0s").help("Leases for a longer time are refused. 0s: any."),
    option_duration("history", "1h").range("0s", "8760h").help("Leases are known so long after their end."),
    option_duration("idle_timeout", "60s")
        .range("0s", "8760h")
        .help("An instance without leases ends after this, unless the pool's min_instances needs it."),
    option_duration("start_timeout", "5m")
        .range("1s", "24h")
        .help("An instance that is not ready so long after its launch has failed."),
    option_duration("ready_interval", "100ms")
        .range("1ms", "1m")
        .help("Time between two looks at an instance that starts."),
    option_duration("health_interval", "5s")
        .range("10ms", "1h")
        .help("Time between two looks at an instance that is ready."),
    option_int("health_failures", 3)
        .range(1, 1000)
        .help("An instance that does not answer so many looks in a row has failed."),
    option_duration("backoff", "1s")
        .range("1ms", "1h")
        .help(
            "Time until an instance is started after one that failed; twice as long after each further one."),
    option_duration("max_backoff", "30s").range("1ms", "24h").help("The longest such time."),
    option_duration("call_timeout", "5s").range("1ms", "1h").help("Time for an instance to answer a call."),
    option_duration("load_timeout", "10m")
        .range("1s", "24h")
        .help("Time for an instance to load a model, or to unload one with the requests that it has."),
    option_bool("use_ssl", false)
        .help(
            "Calls to instances use TLS, those that are passed on to them too, unless the instance's address is one of the loopback. Needs "
            "root_cert."),
    option_bool("ssl_on_loopback", false)
        .help("With use_ssl: calls to instances at addresses of the loopback use it too."),
    option_string("root_cert", "")
        .help("PEM file: the certificates that may have signed those of instances."),
    option_string("client_cert", "")
        .help(
            "PEM file: the certificate that instances are shown which ask for one, and then those that lead to its authority. Empty: none."),
    option_string("client_key", "").help("PEM file: its private key, without a password."),
    option_string("ssl_server_name", "")
        .help(
            "The name (DNS) that the certificates of all instances are for. Empty: each is for the host of its instance's address."),
    option_duration("ssl_poll_interval", "5s")
        .range("0s", "1h")
        .help("Time between two looks whether these files have changed; 0: only SIGHUP has them read again."),
    option_duration("use_interval", "1s")
        .range("100ms", "1h")
        .help(
            "Time between two looks at what leases are used for, by which they renew themselves (auto_renew)."),
    option_duration("use_window", "60s")
        .range("1s", "24h")
        .help("Time over which it is reckoned how much of its instance a lease uses."),
    option_float("overuse_factor", 2.0)
        .range(0, 1000)
        .help("The event lease.overuse is sent when a lease uses more than this many times its "
              "quota's share; 0: never."),
    option_bool("unknown_needs_new_instance", false)
        .help("A lease with a model that was never deployed gets a new instance, even if an unused "
              "one waits."),
    option_int("max_pools", 1'000).range(1, 1'000'000).help("Pools at most."),
    option_int("max_leases", 100'000)
        .range(1, 10'000'000)
        .help("Leases at most, without those that have ended."),
};

}  // namespace atl::pools
