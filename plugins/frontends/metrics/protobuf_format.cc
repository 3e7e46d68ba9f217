#include "frontends/metrics/protobuf_format.h"

#include <bit>
#include <cstdint>

namespace atl::frontends::metrics::protobuf {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricType;

enum WireType : uint32_t { kVarint = 0, kFixed64 = 1, kLength = 2 };

void append_varint(std::string& to, uint64_t value) {
  while (value >= 0x80) {
    to += static_cast<char>(value | 0x80);
    value >>= 7;
  }
  to += static_cast<char>(value);
}

void append_tag(std::string& to, uint32_t field, WireType type) { append_varint(to, field << 3 | type); }

void append_count(std::string& to, uint32_t field, uint64_t value) {
  append_tag(to, field, kVarint);
  append_varint(to, value);
}

/// Of types sint32 and sint64.
uint64_t zigzag(int64_t value) {
  return static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63);
}

void append_double(std::string& to, uint32_t field, double value) {
  append_tag(to, field, kFixed64);
  auto bits = std::bit_cast<uint64_t>(value);
  for (int i = 0; i < 8; ++i, bits >>= 8) to += static_cast<char>(bits);
}

void append_bytes(std::string& to, uint32_t field, std::string_view bytes) {
  append_tag(to, field, kLength);
  append_varint(to, bytes.size());
  to += bytes;
}

/// Field `metric` of MetricFamily: the labels, and the value as the field that belongs to the type.
void append_sample(std::string& samples, std::string_view labels, uint32_t value_field,
                   std::string_view value) {
  std::string metric(labels);
  append_bytes(metric, value_field, value);
  append_bytes(samples, 4, metric);
}

void append_native(std::string& to, const NativeHistogram& native) {
  append_count(to, 5, zigzag(NativeHistogram::kSchema));
  append_double(to, 6, NativeHistogram::kZeroThresholdSec);
  append_count(to, 7, native.zero_count);
  for (const NativeHistogram::Span& span : native.spans) {
    std::string message;
    append_count(message, 1, zigzag(span.offset));
    append_count(message, 2, span.length);
    append_bytes(to, 12, message);
  }
  std::string deltas;
  for (int64_t delta : native.deltas) append_varint(deltas, zigzag(delta));
  if (!deltas.empty()) append_bytes(to, 13, deltas);
}

/// The values of enum MetricType.
uint32_t number_of(MetricType type) {
  switch (type) {
    case MetricType::Counter:
      return 0;
    case MetricType::Gauge:
      return 1;
    case MetricType::Summary:
      return 2;
    case MetricType::Histogram:
      return 4;
    default:
      return 3;  // untyped
  }
}

}  // namespace

void append_label(std::string& labels, std::string_view name, std::string_view value) {
  std::string pair;
  append_bytes(pair, 1, name);
  append_bytes(pair, 2, value);
  append_bytes(labels, 1, pair);
}

void append_value(std::string& samples, std::string_view labels, MetricType type, double value) {
  std::string message;
  append_double(message, 1, value);
  append_sample(samples, labels, type == MetricType::Counter ? 3 : 2, message);
}

void append_summary(std::string& samples, std::string_view labels, const ClientMetric::Summary& summary) {
  std::string message;
  append_count(message, 1, summary.sample_count);
  append_double(message, 2, summary.sample_sum);
  for (const ClientMetric::Quantile& one : summary.quantile) {
    std::string quantile;
    append_double(quantile, 1, one.quantile);
    append_double(quantile, 2, one.value);
    append_bytes(message, 3, quantile);
  }
  append_sample(samples, labels, 4, message);
}

void append_histogram(std::string& samples, std::string_view labels, const ClientMetric::Histogram& histogram,
                      const NativeHistogram* native) {
  std::string message;
  append_count(message, 1, histogram.sample_count);
  append_double(message, 2, histogram.sample_sum);
  for (const ClientMetric::Bucket& one : histogram.bucket) {
    std::string bucket;
    append_count(bucket, 1, one.cumulative_count);
    append_double(bucket, 2, one.upper_bound);
    append_bytes(message, 3, bucket);
  }
  if (native != nullptr) append_native(message, *native);
  append_sample(samples, labels, 7, message);
}

void append_family(std::string& page, std::string_view name, std::string_view help, MetricType type,
                   std::string_view samples) {
  std::string head;
  append_bytes(head, 1, name);
  append_bytes(head, 2, help);
  append_count(head, 3, number_of(type));
  append_varint(page, head.size() + samples.size());
  page += head;
  page += samples;
}

}  // namespace atl::frontends::metrics::protobuf
