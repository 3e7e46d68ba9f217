/// The plugin's options as the kernel sees them.
#pragma once

#include "atoll/core/option_table.h"

namespace atl::tracing {

inline constexpr OptionTable kOptions{
    option_string_list("level", {"OFF"})
        .help("What is recorded: OFF, TIMESTAMPS, TENSORS; true, on, min and max mean TIMESTAMPS, false "
              "means OFF; an OFF wins."),
    option_int("rate", 1000)
        .range(0, 4294967295)
        .help("One request in this many is traced; 0 (mode opentelemetry): only requests with a trace "
              "context."),
    option_int("count", -1).range(-1, 2147483647).help("Traces still to be taken; -1: any number."),
    option_string("mode", "triton")
        .choices("triton|opentelemetry")
        .help("Where traces go: a JSON file, or an OpenTelemetry collector."),
    option_string("trace_file", "")
        .state()
        .help("Path of the trace file; mode triton takes no traces without one."),
    option_int("log_frequency", 0)
        .range(0, 4294967295)
        .help("Traces in each numbered file <trace_file>.<n>; 0: all of them in one file."),
    option_string("url", "http://localhost:4318/v1/traces")
        .help("The collector's OTLP/HTTP address; \"http://\" may be left out."),
    option_string_list("resource", {"service.name=triton-inference-server"})
        .help("Resource attributes of the exported spans, as key=value."),
    option_int("bsp_max_queue_size", 2048)
        .range(1, 10000000)
        .help("Spans that wait for export at most; further traces are dropped."),
    option_duration("bsp_schedule_delay", "5000ms")
        .range("1ms", "1h")
        .help("Time after which waiting spans are exported even if they are few."),
    option_int("bsp_max_export_batch_size", 512)
        .range(1, 10000000)
        .help("Spans from which on an export begins at once, and about as many as one export carries."),
    option_duration("export_timeout", "10s")
        .range("1ms", "1h")
        .help("Time that one attempt to export may take."),
    option_duration("stop_timeout", "2s")
        .range("0s", "1m")
        .help("Time that exporting what is left may take when the server stops."),
    option_bytes("max_tensor_size", "16KiB")
        .range("0", "64MiB")
        .help("Bytes of a tensor's values that are recorded; the rest is left out."),
    option_bytes("max_trace_size", "1MiB")
        .range("0", "1GiB")
        .help("Bytes of tensor values that one trace records, over all its tensors."),
    option_bytes("max_pending_size", "64MiB")
        .range("1KiB", "64GiB")
        .help("Bytes of finished traces that wait to be written at most; further traces are dropped."),
};

}  // namespace atl::tracing
