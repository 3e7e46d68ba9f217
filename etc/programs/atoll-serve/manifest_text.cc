#include "manifest_text.h"

#include <algorithm>
#include <cmath>

#include "atoll/core/text.h"
#include "atoll/lib/overrides.h"
#include "atoll/lib/toml.h"
#include "atoll/runtime/manifest_keys.h"

namespace atl::serve {
namespace {

using runtime::RawValue;
using runtime::toml_text;

std::string key_text(const std::string& key) {
  const bool is_bare = !key.empty() && std::ranges::all_of(key, [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
  return is_bare ? key : toml_text(key);
}

std::string number_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  const std::string text = cat(value);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

std::string inline_text(const RawValue& value) {
  struct Writer {
    std::string operator()(bool data) const { return cat(data); }
    std::string operator()(int64_t data) const { return cat(data); }
    std::string operator()(double data) const { return number_text(data); }
    std::string operator()(const std::string& data) const { return toml_text(data); }
    std::string operator()(const RawValue::Time& data) const { return data.text; }
    std::string operator()(const RawValue::Array& data) const {
      std::string text;
      for (const RawValue& element : data) text += cat(text.empty() ? "" : ", ", inline_text(element));
      return cat("[", text, "]");
    }
    std::string operator()(const RawValue::Table& data) const {
      std::string text;
      for (const auto& member : data)
        text += cat(text.empty() ? "" : ", ", key_text(member.key), " = ", inline_text(member.value));
      return cat("{", text.empty() ? "" : " ", text, text.empty() ? "" : " ", "}");
    }
  };
  return std::visit(Writer(), value.data);
}

/// Tables have headings down to [plugin.NAME]; what is deeper is written inline.
void append_table(const RawValue::Table& table, const std::string& path, int depth, std::string* out) {
  constexpr int kHeadingsDeepest = 2;
  const auto has_heading = [&](const auto& member) {
    return member.value.table() != nullptr && depth < kHeadingsDeepest && (depth == 0 || path == "plugin");
  };
  for (const auto& member : table) {
    if (!has_heading(member)) *out += cat(key_text(member.key), " = ", inline_text(member.value), "\n");
  }
  for (const auto& member : table) {
    if (!has_heading(member)) continue;
    const std::string title = cat(path, path.empty() ? "" : ".", key_text(member.key));
    const auto& members = *member.value.table();
    const bool holds_tables = title == "plugin" && std::ranges::all_of(members, [](const auto& one) {
                                return one.value.table() != nullptr;
                              });
    if (!holds_tables) *out += cat(out->empty() ? "" : "\n", "[", title, "]\n");
    append_table(members, title, depth + 1, out);
  }
}

}  // namespace

std::string toml_document(const RawValue& root) {
  std::string out;
  if (root.table() != nullptr) append_table(*root.table(), "", 0, &out);
  return out;
}

Result<std::string> manifest_with(std::string_view text, const std::string& file,
                                  const std::vector<std::string>& settings) {
  runtime::Problems problems;
  auto root = lib::parse_toml(text, file, problems);
  if (!root) return problems.status();
  std::vector<lib::Override> overrides;
  for (const std::string& setting : settings) {
    const size_t equals = setting.find('=');
    overrides.push_back({setting.substr(0, equals),
                         equals == std::string::npos ? std::string() : setting.substr(equals + 1), "--set"});
  }
  lib::apply_overrides(overrides, *root, problems);
  ATOLL_RETURN_IF_ERROR(problems.status());
  return toml_document(*root);
}

}  // namespace atl::serve
