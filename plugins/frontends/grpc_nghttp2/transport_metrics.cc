#include "frontends/grpc_nghttp2/transport_metrics.h"

#include <iterator>

namespace atl::frontends::grpc_nghttp2 {
namespace {

/// In the order of ClosedFor.
constexpr std::string_view kClosedFor[] = {
    "header_timeout", "write_stall",     "keepalive", "http2_error",     "metadata",      "continuations",
    "resets",         "malformed_calls", "pings",     "overhead_frames", "unsent_frames", "frame_size"};
static_assert(std::size(kClosedFor) == kClosedForCount);

/// In the order of RefusedFor.
constexpr std::string_view kRefusedFor[] = {"running_calls", "metadata",      "memory",
                                            "malformed",     "message_stall", "answer_stall"};
static_assert(std::size(kRefusedFor) == kRefusedForCount);

/// The sum over all threads.
template <class Count>
double sum(const Server& server, Count count) noexcept {
  uint64_t all = 0;
  for (const auto& worker : server.workers()) all += count(worker->counters());
  return static_cast<double>(all);
}

template <class Count>
void write_by_reason(const Server& server, std::string_view instance, MetricSink& sink,
                     std::span<const std::string_view> reasons, Count count) noexcept {
  for (size_t i = 0; i < reasons.size(); ++i) {
    const MetricLabel labels[] = {{"instance", instance}, {"reason", reasons[i]}};
    sink.sample(labels, sum(server, [&](const TransportCounters& counters) { return count(counters, i); }));
  }
}

}  // namespace

void write_transport_metrics(const Server& server, std::string_view instance, MetricSink& sink) noexcept {
  const MetricLabel of_instance[] = {{"instance", instance}};
  sink.family("atoll_grpc_connections", "Open gRPC connections.", MetricKind::kGauge);
  sink.sample(of_instance, static_cast<double>(server.open_connections()));
  sink.family("atoll_grpc_refused_connections_total",
              "gRPC connections refused because of max_connections or of the process's descriptors.",
              MetricKind::kCounter);
  sink.sample(of_instance, static_cast<double>(server.refused_connections()));
  sink.family("atoll_grpc_closed_connections_total",
              "gRPC connections closed because of what their clients did or failed to do, by reason.",
              MetricKind::kCounter);
  write_by_reason(server, instance, sink, kClosedFor,
                  [](const TransportCounters& counters, size_t i) { return counters.closed(i); });
  sink.family("atoll_grpc_open_calls", "gRPC calls on open connections that have not ended.",
              MetricKind::kGauge);
  sink.sample(of_instance, sum(server, [](const TransportCounters& all) { return all.open_calls(); }));
  sink.family("atoll_grpc_calls_total", "gRPC calls that have begun.", MetricKind::kCounter);
  sink.sample(of_instance, sum(server, [](const TransportCounters& all) { return all.calls(); }));
  sink.family("atoll_grpc_refused_calls_total",
              "gRPC calls refused or ended because of what their clients did or failed to do, by reason.",
              MetricKind::kCounter);
  write_by_reason(server, instance, sink, kRefusedFor,
                  [](const TransportCounters& counters, size_t i) { return counters.refused(i); });
}

}  // namespace atl::frontends::grpc_nghttp2
