/// The frontend's options as the kernel sees them.
#pragma once

#include "atoll/core/moved_option.h"
#include "frontends/common/sockets/opening_option_rows.h"
#include "frontends/common/tls/tls_option_rows.h"

namespace atl::frontends::http {

inline constexpr OptionTable kOptions{
    option_string("address", "127.0.0.1:8000")
        .listens()
        .help("Address and port to listen on, as host:port or [ipv6]:port; port 0 takes a free one."),
    opening_rows::kOpenAfterStartup,
    option_int("threads", 0)
        .range(0, 128)
        .help("Threads that read requests and run inference, each with connections of its own. 0: one for "
              "each CPU that the process may use, at most 8."),
    option_bytes("max_input_size", "64MiB")
        .range("1KiB", "1TiB")
        .help("Largest body of a request, in bytes, before and after decompression."),
    option_string("payload_too_large_status", "400")
        .choices("400|413")
        .help("HTTP status of the answer to a body over max_input_size."),
    option_int("max_connections", 10000)
        .range(1, 1000000)
        .help("Connections open at a time. At the limit the one that has been idle the longest makes room; "
              "if none is, "
              "further ones get 503 and are closed."),
    option_duration("header_timeout", "10s")
        .range("1ms", "3600s")
        .help("Time a client has to send a request's headers, from their first byte on."),
    option_duration("idle_timeout", "75s")
        .range("1ms", "86400s")
        .help("Time after which a connection without a request is closed; also the time in which a client "
              "has to send or take at least 16 KiB of a body."),
    option_bytes("max_stream_backlog_bytes", "64MiB")
        .range("1KiB", "1TiB")
        .help("Bytes of a generate_stream answer that may wait for a slow client; at more the request is "
              "cancelled."),
    option_string("server_name", "triton").help("Name of the server in the answer to the metadata call."),
    option_string("header_forward_pattern", "")
        .help("RE2 pattern, matched anywhere in a header's name without regard to case: such headers of an "
              "infer or generate call become parameters of its request; empty: none."),
    option_string("tenant_header", "")
        .help("Header that names the tenant of an inference request, such as x-tenant; empty: none does."),
    option_string_list("only_routes", {})
        .help(
            "Paths that this address answers, for an address that serves one API only; it answers all others with 404. A '*' at "
            "the end stands for any rest, any other '*' for at least one byte, such as /v2/health/*. Empty: it answers all paths."),
    option_string_list("cors_allowed_origins", {})
        .help("Origins whose web pages may call this server, such as https://app.example; \"null\": "
              "pages from files; \"*\": all; empty: none."),
    tls_rows::kUseSsl,
    tls_rows::kUseSslMutual,
    tls_rows::kRequireClientCert,
    tls_rows::kServerCert,
    tls_rows::kServerKey,
    tls_rows::kRootCert,
    tls_rows::kMinVersion,
    tls_rows::kCiphers,
    tls_rows::kMaxHandshakes,
    tls_rows::kPollInterval,
    option_moved("restricted_apis", "security/keys"),
};

}  // namespace atl::frontends::http
