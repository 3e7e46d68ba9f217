#include "frontends/metrics/page.h"

#include <prometheus/text_serializer.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include "atoll/core/utf8.h"
#include "frontends/metrics/protobuf_format.h"

namespace atl::frontends::metrics {
namespace {

using prometheus::MetricType;

/// As it stands in help texts or, quoted, as a label's value.
void append_escaped(std::string& to, std::string_view text, bool quoted) {
  for (char c : text) {
    if (c == '\\') {
      to += "\\\\";
    } else if (c == '\n') {
      to += "\\n";
    } else if (c == '"' && quoted) {
      to += "\\\"";
    } else {
      to += c;
    }
  }
}

/// As the library writes numbers.
void append_number(std::string& to, double value) {
  if (!std::isfinite(value)) {
    to += std::isnan(value) ? "Nan" : value > 0 ? "+Inf" : "-Inf";
    return;
  }
  char digits[32];
  auto [end, error] = std::to_chars(digits, digits + sizeof digits, value, std::chars_format::general,
                                    std::numeric_limits<double>::max_digits10 - 1);
  if (error == std::errc()) to.append(digits, end);
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

EncodedLabels Page::encode(const Labels& labels) const {
  std::string text;
  if (format_ == PageFormat::kProtobuf) {
    for (const auto& label : labels) protobuf::append_label(text, label.name, utf8_text(label.value));
    return EncodedLabels(std::move(text));
  }
  for (const auto& label : labels) {
    if (!text.empty()) text += ',';
    text += label.name;
    text += "=\"";
    append_escaped(text, utf8_text(label.value), true);
    text += '"';
  }
  return EncodedLabels(std::move(text));
}

Page::FamilyId Page::family(std::string_view name, std::string_view help, prometheus::MetricType type) {
  auto [entry, fresh] = by_name_.try_emplace(std::string(name), families_.size());
  if (!fresh) return families_[entry->second].type == type ? entry->second : kNone;
  Family& family = families_.emplace_back();
  family.name = entry->first;
  if (format_ == PageFormat::kProtobuf) {
    family.help = utf8_text(help);
  } else {
    append_escaped(family.help, utf8_text(help), false);
  }
  family.type = type;
  return entry->second;
}

Page::Family* Page::room(FamilyId family) noexcept {
  if (family == kNone || families_[family].samples >= max_series_) {
    ++left_out_;
    return nullptr;
  }
  ++families_[family].samples;
  return &families_[family];
}

void Page::line(FamilyId id, const EncodedLabels& labels, double value) {
  Family* family = room(id);
  if (family == nullptr) return;
  std::string& lines = family->lines;
  if (format_ == PageFormat::kProtobuf) {
    return protobuf::append_value(lines, labels.bytes(), family->type, value);
  }
  lines += family->name;
  if (!labels.bytes().empty()) {
    lines += '{';
    lines += labels.bytes();
    lines += '}';
  }
  lines += ' ';
  append_number(lines, value);
  lines += '\n';
}

prometheus::ClientMetric* Page::add(FamilyId id, const Labels& labels) {
  Family* family = room(id);
  if (family == nullptr) return nullptr;
  prometheus::ClientMetric& metric = family->distributions.emplace_back();
  metric.label = labels;
  for (auto& label : metric.label) {
    if (!is_utf8(label.value)) label.value = utf8_text(label.value);
  }
  return &metric;
}

void Page::histogram(FamilyId id, const Labels& labels, prometheus::ClientMetric::Histogram histogram,
                     const NativeHistogram* native) {
  if (format_ == PageFormat::kProtobuf) {
    Family* family = room(id);
    if (family == nullptr) return;
    return protobuf::append_histogram(family->lines, encode(labels).bytes(), histogram, native);
  }
  if (prometheus::ClientMetric* metric = add(id, labels)) metric->histogram = std::move(histogram);
}

void Page::summary(FamilyId family, const Labels& labels, prometheus::ClientMetric::Summary summary) {
  if (format_ == PageFormat::kProtobuf) {
    Family* to = room(family);
    if (to == nullptr) return;
    return protobuf::append_summary(to->lines, encode(labels).bytes(), summary);
  }
  if (prometheus::ClientMetric* metric = add(family, labels)) metric->summary = std::move(summary);
}

std::string Page::text() {
  std::string page;
  size_t size = 0;
  for (const Family& family : families_)
    size += family.lines.size() + 2 * family.name.size() + family.help.size() + 32;
  page.reserve(size);
  for (Family& family : families_) {
    if (format_ == PageFormat::kText) {
      append_text(family, &page);
    } else if (family.samples != 0) {
      protobuf::append_family(page, family.name, family.help, family.type, family.lines);
    }
    std::string().swap(family.lines);
  }
  families_.clear();
  by_name_.clear();
  return page;
}

void Page::append_text(Family& family, std::string* page) const {
  if (family.samples == 0 && !family.keep) return;
  if (family.type == MetricType::Summary || family.type == MetricType::Histogram) {
    prometheus::MetricFamily one{family.name, family.help, family.type, std::move(family.distributions)};
    *page += prometheus::TextSerializer().Serialize({std::move(one)});
    return;
  }
  if (!family.help.empty())
    page->append("# HELP ").append(family.name).append(" ").append(family.help).append("\n");
  page->append("# TYPE ")
      .append(family.name)
      .append(family.type == MetricType::Counter ? " counter\n" : " gauge\n");
  *page += family.lines;
}

}  // namespace atl::frontends::metrics
