/// The frontend's options as the kernel sees them.
#pragma once

#include "frontends/common/grpc/option_table.h"

namespace atl::frontends::grpc_nghttp2 {

inline constexpr OptionTable kOptions = grpc_options(
    option_bytes("initial_window", "4MiB")
        .range("64KiB", "1GiB")
        .help("Bytes of one call that a client may send before they are taken."),
    option_bytes("connection_window", "16MiB")
        .range("64KiB", "2GiB")
        .help("Bytes of all calls of one connection that its client may send before they are taken."),
    option_bytes("max_frame_size", "1MiB")
        .range("16KiB", "15MiB")
        .help("Largest HTTP/2 frame that clients may send."),
    option_bytes("max_metadata_bytes", "64KiB")
        .range("1KiB", "1MiB")
        .help("Names and values of a call's metadata, each field with 32 bytes more."),
    option_duration("header_timeout", "10s")
        .range("100ms", "3600s")
        .help("Time that a client has for the start of a connection, and for the headers of a call."),
    option_duration("write_stall_timeout", "30s")
        .range("100ms", "86400s")
        .help("A connection is closed if the client takes less than 16 KiB (or the rest) in this "
              "time."),
    option_duration("call_stall_timeout", "300s")
        .range("1s", "86400s")
        .help(
            "Time in which a client has to send, or to take, 16 KiB of a call's message, or the rest of it; then "
            "the call ends."),
    option_int("max_protocol_errors", 100)
        .range(0, 1000000)
        .help("Calls of one connection that may be malformed before it is closed."),
    option_int("reset_rate", 100)
        .range(1, 1000000)
        .help(
            "Unanswered calls that one connection may reset in a second before they were read, after as many as it may have "
            "open; beyond it the connection is closed."),
    option_int("overhead_rate", 1000)
        .range(10, 1000000)
        .help(
            "Frames a second of one connection that bring nothing (pings, settings, tiny data, ...), beside 20 for "
            "each call, 4 for each message and 10 for each frame of data that it takes; with more, and ten times "
            "as many at once, the connection is closed."),
    option_int("inline_budget", 64)
        .range(1, 10000)
        .help("Calls that a thread starts before it writes finished responses."),
    tls_rows::kMinVersion, tls_rows::kCiphers, tls_rows::kMaxHandshakes, tls_rows::kPollInterval);

}  // namespace atl::frontends::grpc_nghttp2
