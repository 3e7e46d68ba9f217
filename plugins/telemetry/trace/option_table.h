/// The plugin's options as the kernel sees them.
#pragma once

#include "atoll/abi/plugin.h"

namespace atl::tracing {

inline constexpr atoll_option_v1 kOptions[] = {
    {"level", ATOLL_OPTION_STRING_LIST, 0, "[\"OFF\"]", nullptr, nullptr, nullptr,
     "What is recorded: OFF, TIMESTAMPS, TENSORS; true, on, min and max mean TIMESTAMPS, false means OFF; an "
     "OFF wins."},
    {"rate", ATOLL_OPTION_INT, 0, "1000", "0", "4294967295", nullptr,
     "Every how many requests one is traced; 0: only requests that bring a trace context (opentelemetry)."},
    {"count", ATOLL_OPTION_INT, 0, "-1", "-1", "2147483647", nullptr,
     "Traces still to be taken; -1: any number."},
    {"mode", ATOLL_OPTION_STRING, 0, "triton", nullptr, nullptr, "triton|opentelemetry",
     "Where traces go: a JSON file, or an OpenTelemetry collector."},
    {"trace_file", ATOLL_OPTION_STRING, 0, "", nullptr, nullptr, nullptr,
     "Path of the trace file; mode triton takes no traces without one."},
    {"log_frequency", ATOLL_OPTION_INT, 0, "0", "0", "4294967295", nullptr,
     "Traces in each numbered file <trace_file>.<n>; 0: all of them in one file."},
    {"url", ATOLL_OPTION_STRING, 0, "http://localhost:4318/v1/traces", nullptr, nullptr, nullptr,
     "The collector's OTLP/HTTP address."},
    {"resource", ATOLL_OPTION_STRING_LIST, 0, "[\"service.name=triton-inference-server\"]", nullptr, nullptr,
     nullptr, "Resource attributes of the exported spans, as key=value."},
    {"bsp_max_queue_size", ATOLL_OPTION_INT, 0, "2048", "1", "10000000", nullptr,
     "Spans that wait for export at most; further traces are dropped."},
    {"bsp_schedule_delay", ATOLL_OPTION_DURATION, 0, "5000ms", "1ms", "1h", nullptr,
     "Time after which waiting spans are exported even if they are few."},
    {"bsp_max_export_batch_size", ATOLL_OPTION_INT, 0, "512", "1", "10000000", nullptr,
     "Spans from which on an export begins at once, and about as many as one export carries."},
    {"export_timeout", ATOLL_OPTION_DURATION, 0, "10s", "1ms", "1h", nullptr,
     "Time that one attempt to export may take."},
    {"stop_timeout", ATOLL_OPTION_DURATION, 0, "2s", "0s", "1m", nullptr,
     "Time that exporting what is left may take when the server stops."},
    {"max_tensor_size", ATOLL_OPTION_BYTES, 0, "16KiB", "0", "64MiB", nullptr,
     "Bytes of a tensor's values that are recorded; the rest is left out."},
    {"max_trace_size", ATOLL_OPTION_BYTES, 0, "1MiB", "0", "1GiB", nullptr,
     "Bytes of tensor values that one trace records, over all its tensors."},
    {"max_pending_size", ATOLL_OPTION_BYTES, 0, "64MiB", "1KiB", "64GiB", nullptr,
     "Bytes of finished traces that wait to be written at most; further traces are dropped."},
};

}  // namespace atl::tracing
