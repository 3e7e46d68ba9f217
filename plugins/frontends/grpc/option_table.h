/// The frontend's options as the kernel sees them.
#pragma once

#include "atoll/abi/plugin.h"

namespace atl::frontends::grpc_frontend {

inline constexpr atoll_option_v1 kOptions[] = {
    {"address", ATOLL_OPTION_STRING, 0, "127.0.0.1:8001", nullptr, nullptr, nullptr,
     "Address and port to listen on, as host:port or [ipv6]:port; port 0 takes a free one."},
    {"threads", ATOLL_OPTION_INT, 0, "0", "0", "128", nullptr,
     "Threads that read requests and run inference, each with its own completion queue. 0: one for each CPU "
     "that "
     "the process may use, at most 8."},
    {"max_message_bytes", ATOLL_OPTION_BYTES, 0, "64MiB", "1KiB", "2147483647", nullptr,
     "Largest request accepted, in bytes, after decompression."},
    {"max_streams_per_connection", ATOLL_OPTION_INT, 0, "1024", "1", "2147483647", nullptr,
     "Calls that one connection may have open at a time."},
    {"max_requests_per_stream", ATOLL_OPTION_INT, 0, "256", "1", "1000000", nullptr,
     "Requests of one ModelStreamInfer call in flight at a time; while that many are, no more are read."},
    {"max_stream_backlog_bytes", ATOLL_OPTION_BYTES, 0, "64MiB", "1KiB", nullptr, nullptr,
     "Bytes of one ModelStreamInfer call, in requests in flight and in responses not written yet, from which "
     "on no more requests are read; a decoupled model whose responses wait beyond it is cancelled."},
    {"max_response_pool_size", ATOLL_OPTION_INT, 0, "2147483647", "1", "2147483647", nullptr,
     "Responses of one decoupled request that may wait to be written; with one more the request is "
     "cancelled."},
    {"reuse_port", ATOLL_OPTION_BOOL, 0, "false", nullptr, nullptr, nullptr,
     "Whether the port may be shared with other listeners (SO_REUSEPORT); without, a port in use is "
     "refused."},
    {"use_ssl", ATOLL_OPTION_BOOL, 0, "false", nullptr, nullptr, nullptr,
     "Whether connections use TLS; needs server_cert and server_key."},
    {"use_ssl_mutual", ATOLL_OPTION_BOOL, 0, "false", nullptr, nullptr, nullptr,
     "Whether clients must present a certificate signed by root_cert; implies use_ssl."},
    {"server_cert", ATOLL_OPTION_STRING, 0, "", nullptr, nullptr, nullptr,
     "Path of the PEM file with the server's certificate chain."},
    {"server_key", ATOLL_OPTION_STRING, 0, "", nullptr, nullptr, nullptr,
     "Path of the PEM file with the server's private key."},
    {"root_cert", ATOLL_OPTION_STRING, 0, "", nullptr, nullptr, nullptr,
     "Path of the PEM file with the certificates that may sign those of clients."},
    {"restricted_protocols", ATOLL_OPTION_STRING_LIST, 0, "[]", nullptr, nullptr, nullptr,
     "Calls that need a key, as 'category,category:key=value': metadata 'triton-grpc-protocol-<key>' must be "
     "the value. Categories: health, metadata, inference, shared-memory, model-config, model-repository, "
     "statistics, trace, logging."},
    {"header_forward_pattern", ATOLL_OPTION_STRING, 0, "", nullptr, nullptr, nullptr,
     "Metadata whose name matches this RE2 pattern anywhere, in any case, becomes a parameter of inference "
     "requests; empty: none."},
    {"tenant_header", ATOLL_OPTION_STRING, 0, "", nullptr, nullptr, nullptr,
     "Metadata that names the tenant of an inference request, such as x-tenant; empty: none does."},
    {"server_name", ATOLL_OPTION_STRING, 0, "triton", nullptr, nullptr, nullptr,
     "Name of the server in the answer to ServerMetadata."},
    {"response_compression", ATOLL_OPTION_STRING, 0, "none", nullptr, nullptr, "none|low|medium|high",
     "Compression level of inference responses, of streams too."},
    {"keepalive_time", ATOLL_OPTION_DURATION, 0, "7200s", "1ms", "2147483647ms", nullptr,
     "Time without traffic after which the server pings a connection."},
    {"keepalive_timeout", ATOLL_OPTION_DURATION, 0, "20s", "1ms", "2147483647ms", nullptr,
     "Time to wait for the answer to a ping before the connection is closed."},
    {"keepalive_permit_without_calls", ATOLL_OPTION_BOOL, 0, "false", nullptr, nullptr, nullptr,
     "Whether pings are allowed while a connection has no calls."},
    {"http2_max_pings_without_data", ATOLL_OPTION_INT, 0, "2", "0", "2147483647", nullptr,
     "Pings sent without data between them; 0: any number."},
    {"http2_min_recv_ping_interval_without_data", ATOLL_OPTION_DURATION, 0, "300s", "0s", "2147483647ms",
     nullptr, "Time that must pass between a client's pings without data."},
    {"http2_max_ping_strikes", ATOLL_OPTION_INT, 0, "2", "0", "2147483647", nullptr,
     "Too early pings of a client before its connection is closed; 0: any number."},
    {"max_connection_age", ATOLL_OPTION_DURATION, 0, "0s", "0s", "2147483647ms", nullptr,
     "Age at which a connection is asked to end; 0: never."},
    {"max_connection_age_grace", ATOLL_OPTION_DURATION, 0, "0s", "0s", "2147483647ms", nullptr,
     "Time that calls get to end after max_connection_age; 0: until they are done."},
};

}  // namespace atl::frontends::grpc_frontend
