/// The options as the kernel sees them.
#pragma once

#include "atoll/core/option_table.h"
#include "frontends/common/sockets/opening_option_rows.h"
#include "frontends/common/tls/tls_option_rows.h"

namespace atl::frontends::metrics {

inline constexpr OptionTable kOptions{
    option_string("address", "127.0.0.1:8002")
        .listens()
        .help("Address and port to listen on, as host:port or [ipv6]:port; port 0 takes a free one."),
    option_bool("listen", true)
        .listens()
        .help("Whether the page is served at 'address'; false: only to other plugins."),
    opening_rows::kOpenAfterStartup,
    option_bool("inference_port", false)
        .help(
            "Whether /metrics and /metrics/summary are also answered at the addresses of frontends/http, for "
            "collectors that only know these."),
    option_duration("interval", "2s")
        .range("1ms", "3600s")
        .help("CPU and memory use and summary windows are sampled twice in this time."),
    option_bool("cpu_metrics", true).help("Exposes processor and memory use of the machine (nv_cpu_*)."),
    option_bool("counter_latencies", true)
        .help("Exposes the durations of requests as counters (nv_*_duration_us, nv_cache_*_per_model)."),
    option_bool("summary_latencies", false)
        .help("Exposes the durations of requests as summaries (nv_*_summary_us)."),
    option_bool("histogram_latencies", false)
        .help("Exposes the time to the first response as a histogram "
              "(nv_inference_first_response_histogram_ms)."),
    option_string_list("summary_quantiles",
                       {"0.5:0.05", "0.9:0.01", "0.95:0.001", "0.99:0.001", "0.999:0.001"})
        .help("Quantiles of the summaries, as \"<quantile>:<error>\", both from 0 to 1; at most 32."),
    option_string_list("duration_buckets",
                       {"0.0001", "0.00025", "0.0005", "0.001", "0.0025", "0.005", "0.01", "0.025", "0.05",
                        "0.1", "0.25", "0.5", "1", "2.5", "5", "10", "30", "60"})
        .help(
            "Upper bounds, in seconds and ascending, of the histograms that 'phase_histograms' asks for; at "
            "most 100; an empty list: no such histograms."),
    option_string_list("phase_histograms", {"none"})
        .help(
            "Models whose atoll_inference_*_duration_seconds are shown with buckets (label le), 126 series a "
            "model: \"all\", \"none\", or their names. Collectors that accept the protobuf format always get "
            "them as native histograms, one series each."),
    option_int("max_series", 100000)
        .range(1, 1000000)
        .help("Series that one metric may have (a histogram or summary of one label set counts once); "
              "further ones are left out and counted."),
    option_int("max_connections", 64)
        .range(1, 10000)
        .help("Connections open at a time. At the limit the one that has waited longest for a request makes "
              "room; if all are being answered, further ones get 503 and are closed."),
    option_duration("idle_timeout", "75s")
        .range("1ms", "86400s")
        .help(
            "Time without a request, and in which a client has to send the head of one, its body, or to take "
            "a whole answer, before it is disconnected."),
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
};

}  // namespace atl::frontends::metrics
