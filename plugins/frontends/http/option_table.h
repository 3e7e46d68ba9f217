/// The frontend's options as the kernel sees them.
#pragma once

#include "atoll/abi/plugin.h"

namespace atl::frontends::http {

inline constexpr atoll_option_v1 kOptions[] = {
    {"address", ATOLL_OPTION_STRING, 0, "127.0.0.1:8000", nullptr, nullptr, nullptr,
     "Address and port to listen on, as host:port or [ipv6]:port; port 0 takes a free one."},
    {"threads", ATOLL_OPTION_INT, 0, "0", "0", "128", nullptr,
     "Threads that read requests and run inference, each with connections of its own. 0: one for each CPU "
     "that "
     "the process may use, at most 8."},
    {"max_input_size", ATOLL_OPTION_BYTES, 0, "64MiB", "1KiB", "1TiB", nullptr,
     "Largest body of a request, in bytes, before and after decompression."},
    {"payload_too_large_status", ATOLL_OPTION_STRING, 0, "400", nullptr, nullptr, "400|413",
     "HTTP status of the answer to a body over max_input_size."},
    {"max_connections", ATOLL_OPTION_INT, 0, "10000", "1", "1000000", nullptr,
     "Connections open at a time; further ones get 503 and are closed."},
    {"header_timeout", ATOLL_OPTION_DURATION, 0, "10s", "1ms", "3600s", nullptr,
     "Time a client has to send a request's headers, from their first byte on."},
    {"idle_timeout", ATOLL_OPTION_DURATION, 0, "75s", "1ms", "86400s", nullptr,
     "Time after which a connection without a request is closed; also the time in which a client has to send "
     "or "
     "take at least 16 KiB of a body."},
    {"max_stream_backlog_bytes", ATOLL_OPTION_BYTES, 0, "64MiB", "1KiB", "1TiB", nullptr,
     "Bytes of a generate_stream answer that may wait for a slow client; at more the request is cancelled."},
    {"server_name", ATOLL_OPTION_STRING, 0, "triton", nullptr, nullptr, nullptr,
     "Name of the server in the answer to the metadata call."},
    {"header_forward_pattern", ATOLL_OPTION_STRING, 0, "", nullptr, nullptr, nullptr,
     "RE2 pattern, matched anywhere in a header's name without regard to case: such headers of an infer call "
     "become parameters of its request; empty: none."},
    {"tenant_header", ATOLL_OPTION_STRING, 0, "", nullptr, nullptr, nullptr,
     "Header that names the tenant of an inference request, such as x-tenant; empty: none does."},
    {"restricted_apis", ATOLL_OPTION_STRING_LIST, 0, "[]", nullptr, nullptr, nullptr,
     "Groups of calls that need a header: \"<category>,<category>:<header>=<value>\" each."},
};

}  // namespace atl::frontends::http
