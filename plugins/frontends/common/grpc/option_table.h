/// The options of a gRPC frontend as the kernel sees them.
#pragma once

#include "atoll/core/moved_option.h"
#include "frontends/common/sockets/opening_option_rows.h"
#include "frontends/common/tls/tls_option_rows.h"

namespace atl::frontends {

/// What every gRPC frontend takes, and what one takes beside it.
template <class... More>
constexpr auto grpc_options(const More&... more) {
  return OptionTable{
      option_string("address", "127.0.0.1:8001")
          .listens()
          .help("Address and port to listen on, as host:port or [ipv6]:port; port 0 takes a free one."),
      opening_rows::kOpenAfterStartup,
      option_int("threads", 0)
          .range(0, 128)
          .help(
              "Threads that read requests and run inference, each with connections of its own. 0: one for each "
              "CPU that the process may use, at most 8."),
      option_bytes("max_message_bytes", "64MiB")
          .range("1KiB", "2147483647")
          .help("Largest request accepted, in bytes, after decompression."),
      option_int("max_connections", 10000)
          .range(1, 1000000)
          .help("Connections open at a time; further ones are closed."),
      option_int("max_streams_per_connection", 1024)
          .range(1, 2147483647)
          .help("Calls that one connection may have open at a time."),
      option_int("max_requests_per_stream", 256)
          .range(1, 1000000)
          .help("Requests of one ModelStreamInfer call in flight at a time; while that many are, no more are "
                "read."),
      option_bytes("max_stream_backlog_bytes", "64MiB")
          .at_least("1KiB")
          .help(
              "Bytes of one ModelStreamInfer call, in requests in flight and in responses not written yet, "
              "from which on no more requests are read; a decoupled model whose responses wait beyond it is "
              "cancelled. Also the bytes of a call of another plugin's that may wait for a slow client."),
      option_int("max_response_pool_size", 2147483647)
          .range(1, 2147483647)
          .help(
              "Responses of one decoupled request that may wait to be written; with one more the request is "
              "cancelled."),
      option_bool("reuse_port", false)
          .shares_ports()
          .help(
              "Whether the port may be shared with other listeners (SO_REUSEPORT); without, a port in use is "
              "refused."),
      tls_rows::kUseSsl,
      tls_rows::kUseSslMutual,
      tls_rows::kRequireClientCert,
      tls_rows::kServerCert,
      tls_rows::kServerKey,
      tls_rows::kRootCert,
      option_moved("restricted_protocols", "security/keys"),
      option_string("header_forward_pattern", "")
          .help("Metadata whose name matches this RE2 pattern anywhere, in any case, becomes a parameter of "
                "inference requests; empty: none."),
      option_string("tenant_header", "")
          .help(
              "Metadata that names the tenant of an inference request, such as x-tenant; empty: none does."),
      option_string("server_name", "triton").help("Name of the server in the answer to ServerMetadata."),
      option_bool("reflection", false)
          .help(
              "Whether clients may ask which services and messages there are (grpc.reflection.v1 and v1alpha), "
              "as calls of the category metadata."),
      option_string("response_compression", "none")
          .choices("none|low|medium|high")
          .help(
              "Compression level of inference responses, of streams too, and of answers of other plugins' calls."),
      option_duration("keepalive_time", "7200s")
          .range("1ms", "2147483647ms")
          .help("Time without traffic after which the server pings a connection."),
      option_duration("keepalive_timeout", "20s")
          .range("1ms", "2147483647ms")
          .help("Time to wait for the answer to a ping before the connection is closed."),
      option_bool("keepalive_permit_without_calls", false)
          .help("Whether pings are allowed while a connection has no calls."),
      option_int("http2_max_pings_without_data", 2)
          .range(0, 2147483647)
          .help("Pings sent without data between them; 0: any number."),
      option_duration("http2_min_recv_ping_interval_without_data", "300s")
          .range("0s", "2147483647ms")
          .help("Time that must pass between a client's pings without data."),
      option_int("http2_max_ping_strikes", 2)
          .range(0, 2147483647)
          .help("Too early pings of a client before its connection is closed; 0: any number."),
      option_duration("max_connection_age", "0s")
          .range("0s", "2147483647ms")
          .help("Age at which a connection is asked to end; 0: never."),
      option_duration("max_connection_age_grace", "0s")
          .range("0s", "2147483647ms")
          .help("Time that calls get to end after max_connection_age; 0: until they are done."),
      more...};
}

}  // namespace atl::frontends
