/// The protobuf format of Prometheus' pages: messages io.prometheus.client.MetricFamily, each behind its length as a varint.
///
/// The messages are written field by field, because a page may have hundreds of thousands of samples and each is written once:
/// objects of generated classes would be several times the size of the page.
#pragma once

#include <prometheus/client_metric.h>
#include <prometheus/metric_type.h>

#include <string>
#include <string_view>

#include "frontends/metrics/native_histogram.h"

namespace atl::frontends::metrics::protobuf {

/// The value of Content-Type.
inline constexpr std::string_view kContentType =
    "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited";

/// A label of a sample; to be given as a part of `labels` below. \param value  UTF-8
void append_label(std::string& labels, std::string_view name, std::string_view value);

// One sample of a family each.
/// \param type  kCounter or kGauge
void append_value(std::string& samples, std::string_view labels, prometheus::MetricType type, double value);
void append_summary(std::string& samples, std::string_view labels,
                    const prometheus::ClientMetric::Summary& summary);
/// \param histogram  its buckets may be empty if there is a native one. \param native  null: there is none
void append_histogram(std::string& samples, std::string_view labels,
                      const prometheus::ClientMetric::Histogram& histogram, const NativeHistogram* native);

/// A whole family. \param help  UTF-8. \param samples  at least one
void append_family(std::string& page, std::string_view name, std::string_view help,
                   prometheus::MetricType type, std::string_view samples);

}  // namespace atl::frontends::metrics::protobuf
