/// Options of caches/redis.
#pragma once

#include "atoll/core/moved_option.h"
#include "atoll/core/option_table.h"

namespace atl::caches {

inline constexpr OptionTable kRedisOptions{
    option_string("address").required().help("Redis server, host:port, such as 127.0.0.1:6379."),
    option_string("user", "")
        .help(
            "User to authenticate as; empty: TRITONCACHE_REDIS_USERNAME of the environment, else Redis' default user."),
    option_secret(
        option_string("password", "")
            .help("Password; empty: TRITONCACHE_REDIS_PASSWORD of the environment, else none is sent.")),
    option_int("database", 0).range(0, 1 << 20).help("Number of the logical database."),
    option_bool("tls", false).help("Connections are encrypted and the server's certificate is verified."),
    option_string("tls_root_cert", "")
        .help("File of the certificates that are trusted, PEM; empty: what the system trusts."),
    option_string("tls_client_cert", "").help("File of the certificate that is shown to the server, PEM."),
    option_string("tls_client_key", "").help("File of that certificate's private key, PEM."),
    option_string("tls_server_name", "")
        .help("Name that the server's certificate has to be for; empty: the host of 'address'."),
    option_int("connections", 4)
        .range(1, 64)
        .help("Number of connections, each with many commands in flight."),
    option_duration("timeout", "50ms")
        .range("1ms", "60s")
        .help("A request does not wait longer for Redis: after that its answer is computed."),
    option_duration("connect_timeout", "1s")
        .range("1ms", "60s")
        .help("Time for a connection to be made, encrypted and authenticated."),
    option_duration("ttl", "1h")
        .range("0s", "8760h")
        .help("Redis forgets an answer so long after it was computed. 0s: as long as Redis keeps it."),
    option_bytes("max_entry_size", "16MiB")
        .range("1KiB", "256MiB")
        .help("A larger answer is neither stored nor read."),
    option_bytes("write_buffer", "64MiB")
        .range("1MiB", "16GiB")
        .help("Memory for answers on their way to Redis; what does not fit is not stored."),
    option_string("key_prefix", "atoll:").help("Every key in Redis begins with it."),
    option_int("failure_threshold", 5)
        .range(1, 1000)
        .help("Failures in a row after which Redis is not asked for 'retry_after' (the circuit "
              "breaker opens)."),
    option_duration("retry_after", "1s")
        .range("10ms", "10m")
        .help(
            "After so long an open circuit breaker tries one connection; twice as long after each attempt that "
            "fails, up to 32 times."),
};

}  // namespace atl::caches
