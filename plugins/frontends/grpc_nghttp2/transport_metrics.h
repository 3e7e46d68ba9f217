/// What the transport counts, as metrics.
#pragma once

#include <string_view>

#include "atoll/core/metrics.h"
#include "frontends/grpc_nghttp2/transport/server.h"

namespace atl::frontends::grpc_nghttp2 {

/// [any] \param instance  the plugin's, a label of every sample
void write_transport_metrics(const Server& server, std::string_view instance, MetricSink& sink) noexcept;

}  // namespace atl::frontends::grpc_nghttp2
