#include "page.h"

#include <prometheus/text_serializer.h>

#include <utility>

#include "common/wire_format.h"

namespace atl::frontends::metrics {
namespace {

/// The serializer escapes label values, but not help texts.
std::string help_text(std::string_view help) {
  std::string text;
  for (char c : utf8_text(help)) {
    if (c == '\\') {
      text += "\\\\";
    } else if (c == '\n') {
      text += "\\n";
    } else {
      text += c;
    }
  }
  return text;
}

}  // namespace

std::string utf8_text(std::string_view text) {
  if (is_utf8(text)) return std::string(text);
  std::string valid;
  for (char c : text) {
    if (static_cast<unsigned char>(c) < 0x80) {
      valid += c;
    } else {
      valid += "\uFFFD";
    }
  }
  return valid;
}

Page::FamilyId Page::family(std::string_view name, std::string_view help, prometheus::MetricType type) {
  auto [entry, fresh] = by_name_.try_emplace(std::string(name), families_.size());
  if (!fresh) return families_[entry->second].type == type ? entry->second : kNone;
  prometheus::MetricFamily family;
  family.name = entry->first;
  family.help = help_text(help);
  family.type = type;
  families_.push_back(std::move(family));
  return entry->second;
}

prometheus::ClientMetric* Page::add(FamilyId family, const Labels& labels) {
  if (family == kNone || families_[family].metric.size() >= max_series_) {
    ++left_out_;
    return nullptr;
  }
  prometheus::ClientMetric& metric = families_[family].metric.emplace_back();
  metric.label = labels;
  for (auto& label : metric.label) {
    if (!is_utf8(label.value)) label.value = utf8_text(label.value);
  }
  return &metric;
}

void Page::value(FamilyId family, const Labels& labels, double value) {
  prometheus::ClientMetric* metric = add(family, labels);
  if (metric == nullptr) return;
  if (families_[family].type == prometheus::MetricType::Counter) {
    metric->counter.value = value;
  } else {
    metric->gauge.value = value;
  }
}

void Page::histogram(FamilyId family, const Labels& labels, prometheus::ClientMetric::Histogram histogram) {
  if (prometheus::ClientMetric* metric = add(family, labels)) metric->histogram = std::move(histogram);
}

void Page::summary(FamilyId family, const Labels& labels, prometheus::ClientMetric::Summary summary) {
  if (prometheus::ClientMetric* metric = add(family, labels)) metric->summary = std::move(summary);
}

std::string Page::text() {
  std::erase_if(families_, [](const auto& family) { return family.metric.empty(); });
  by_name_.clear();
  return prometheus::TextSerializer().Serialize(std::exchange(families_, {}));
}

}  // namespace atl::frontends::metrics
