/// The options as the kernel sees them.
#pragma once

#include "atoll/abi/plugin.h"

namespace atl::frontends::metrics {

inline constexpr atoll_option_v1 kOptions[] = {
    {"address", ATOLL_OPTION_STRING, 0, "127.0.0.1:8002", nullptr, nullptr, nullptr,
     "Address and port to listen on, as host:port or [ipv6]:port; port 0 takes a free one."},
    {"interval", ATOLL_OPTION_DURATION, 0, "2s", "2ms", "3600s", nullptr,
     "Processor and memory use, and the windows of the summaries, are looked at every half of this time."},
    {"cpu_metrics", ATOLL_OPTION_BOOL, 0, "true", nullptr, nullptr, nullptr,
     "Exposes processor and memory use of the machine (nv_cpu_*)."},
    {"counter_latencies", ATOLL_OPTION_BOOL, 0, "true", nullptr, nullptr, nullptr,
     "Exposes the durations of requests as counters (nv_*_duration_us, nv_cache_*_per_model)."},
    {"summary_latencies", ATOLL_OPTION_BOOL, 0, "false", nullptr, nullptr, nullptr,
     "Exposes the durations of requests as summaries (nv_*_summary_us)."},
    {"histogram_latencies", ATOLL_OPTION_BOOL, 0, "false", nullptr, nullptr, nullptr,
     "Exposes the time to the first response as a histogram (nv_inference_first_response_histogram_ms)."},
    {"summary_quantiles", ATOLL_OPTION_STRING_LIST, 0,
     R"(["0.5:0.05", "0.9:0.01", "0.95:0.001", "0.99:0.001", "0.999:0.001"])", nullptr, nullptr, nullptr,
     "Quantiles of the summaries, as \"<quantile>:<error>\", both from 0 to 1; at most 32."},
    {"duration_buckets", ATOLL_OPTION_STRING_LIST, 0,
     R"(["0.0001", "0.00025", "0.0005", "0.001", "0.0025", "0.005", "0.01", "0.025", "0.05", "0.1", "0.25", )"
     R"("0.5", "1", "2.5", "5", "10", "30", "60"])",
     nullptr, nullptr, nullptr,
     "Upper bounds, in seconds and ascending, of the histograms atoll_inference_*_duration_seconds; at most "
     "100; an empty list: no such histograms."},
    {"max_series", ATOLL_OPTION_INT, 0, "4000", "1", "1000000", nullptr,
     "Series that one metric may have (a histogram or summary of one label set counts once); further ones "
     "are "
     "left out and counted."},
    {"max_connections", ATOLL_OPTION_INT, 0, "64", "1", "10000", nullptr,
     "Connections open at a time; further ones get 503 and are closed."},
    {"idle_timeout", ATOLL_OPTION_DURATION, 0, "75s", "1ms", "86400s", nullptr,
     "Time in which a client has to send a whole request, or to take a whole answer, before it is "
     "disconnected."},
};

}  // namespace atl::frontends::metrics
