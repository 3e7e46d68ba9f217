#include "frontends/metrics/page.h"

#include <prometheus/text_serializer.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include "frontends/common/codec/wire_format.h"

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

LabelText::LabelText(const Labels& labels) {
  for (const auto& label : labels) {
    if (!text_.empty()) text_ += ',';
    text_ += label.name;
    text_ += "=\"";
    append_escaped(text_, utf8_text(label.value), true);
    text_ += '"';
  }
}

Page::FamilyId Page::family(std::string_view name, std::string_view help, prometheus::MetricType type) {
  auto [entry, fresh] = by_name_.try_emplace(std::string(name), families_.size());
  if (!fresh) return families_[entry->second].type == type ? entry->second : kNone;
  Family& family = families_.emplace_back();
  family.name = entry->first;
  append_escaped(family.help, utf8_text(help), false);
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

void Page::line(FamilyId id, const LabelText& labels, double value) {
  Family* family = room(id);
  if (family == nullptr) return;
  std::string& lines = family->lines;
  lines += family->name;
  if (!labels.text().empty()) {
    lines += '{';
    lines += labels.text();
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

void Page::histogram(FamilyId family, const Labels& labels, prometheus::ClientMetric::Histogram histogram) {
  if (prometheus::ClientMetric* metric = add(family, labels)) metric->histogram = std::move(histogram);
}

void Page::summary(FamilyId family, const Labels& labels, prometheus::ClientMetric::Summary summary) {
  if (prometheus::ClientMetric* metric = add(family, labels)) metric->summary = std::move(summary);
}

std::string Page::text() {
  std::string page;
  size_t size = 0;
  for (const Family& family : families_)
    size += family.lines.size() + 2 * family.name.size() + family.help.size() + 32;
  page.reserve(size);
  for (Family& family : families_) {
    if (family.samples == 0 && !family.keep) continue;
    if (family.type == MetricType::Summary || family.type == MetricType::Histogram) {
      prometheus::MetricFamily one{family.name, family.help, family.type, std::move(family.distributions)};
      page += prometheus::TextSerializer().Serialize({std::move(one)});
      continue;
    }
    if (!family.help.empty())
      page.append("# HELP ").append(family.name).append(" ").append(family.help).append("\n");
    page.append("# TYPE ")
        .append(family.name)
        .append(family.type == MetricType::Counter ? " counter\n" : " gauge\n");
    page += family.lines;
    std::string().swap(family.lines);
  }
  families_.clear();
  by_name_.clear();
  return page;
}

}  // namespace atl::frontends::metrics
