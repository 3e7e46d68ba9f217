#include "atoll/lib/overrides.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

#include "atoll/lib/toml.h"

namespace atl::lib {
namespace {

constexpr std::string_view kEnvironmentPrefix = "ATOLL__";
constexpr size_t kKeyPartsMax = 16;

/// plugin."a.b".paths -> plugin, a.b, paths; empty for a text that is no key.
std::vector<std::string> split_key(const std::string& key) {
  std::vector<std::string> parts;
  Problems unused;
  auto document = parse_toml(cat(key, "=0"), "", unused);
  if (!document) return {};
  const RawValue* value = &*document;
  for (; value->table() != nullptr && value->table()->size() == 1; value = &value->table()->front().value) {
    parts.push_back(value->table()->front().key);
  }
  bool good = parts.size() <= kKeyPartsMax && std::holds_alternative<int64_t>(value->data) &&
              std::find(parts.begin(), parts.end(), "") == parts.end();
  return good ? parts : std::vector<std::string>();
}

std::vector<std::string_view> keys_of(const RawValue* table) {
  std::vector<std::string_view> keys;
  if (table == nullptr || table->table() == nullptr) return keys;
  for (const RawValue::Member& member : *table->table()) keys.push_back(member.key);
  return keys;
}

/// An instance that overrides have added without saying which plugin it is has a misspelt name. It becomes a problem, and is
/// taken out of the manifest, where it would be a second one. \param known  names of the manifest's own instances
void refuse_unknown_instances(std::span<const std::string> known, RawValue& root, Problems& problems) {
  RawValue::Member* plugins = root.find("plugin");
  if (plugins == nullptr || plugins->value.table() == nullptr) return;
  const std::vector<std::string_view> names(known.begin(), known.end());
  std::erase_if(*plugins->value.table(), [&](const RawValue::Member& instance) {
    const std::vector<std::string_view> keys = keys_of(&instance.value);
    const bool has_plugin = std::ranges::any_of(keys, [](auto key) { return key == "use" || key == "file"; });
    if (instance.value.table() == nullptr || has_plugin ||
        std::ranges::find(known, instance.key) != known.end()) {
      return false;
    }
    const std::string near = runtime::suggestion(instance.key, names);
    problems.add(instance.where, "the manifest has no instance '", instance.key, "'",
                 near.empty() ? cat("; a new one needs plugin.", instance.key, ".use") : near);
    return true;
  });
}

void apply(const Override& item, RawValue& root, Problems& problems) {
  bool is_flag = item.origin.starts_with('-');
  SourceLocation where{is_flag ? cat(item.origin, ' ', item.key) : item.origin, 0, 0};
  bool too_long = item.text.size() > kTomlBytesMax;
  auto parts = split_key(item.key);
  if (parts.empty() || too_long) {
    problems.add(where, too_long ? "found more than 1 MiB of text" : cat("found key '", item.key, "'"),
                 ", expected KEY=VALUE with a key such as plugin.grpc.address");
    return;
  }
  RawValue* value = &root;
  for (const std::string& part : parts) {
    RawValue::Member* member = value->find(part);
    if (member == nullptr) {
      value->table()->push_back({part, where, RawValue{RawValue::Table(), where}});
      member = &value->table()->back();
    }
    value = &member->value;
    if (&part == &parts.back()) {
      member->where = where;
    } else if (value->table() == nullptr) {
      problems.add(where, "'", part, "' is ", found_text(*value), " at ", location_text(value->where),
                   ", expected a table to set a key in");
      return;
    }
  }
  *value = parse_toml_value(item.text, where).value_or(RawValue{item.text, where});
}

}  // namespace

void apply_overrides(const std::vector<Override>& overrides, RawValue& root, Problems& problems) {
  const RawValue::Member* plugins = root.find("plugin");
  const std::vector<std::string_view> keys = keys_of(plugins == nullptr ? nullptr : &plugins->value);
  const std::vector<std::string> known(keys.begin(), keys.end());
  for (const auto& item : overrides) apply(item, root, problems);
  refuse_unknown_instances(known, root, problems);
}

std::vector<Override> overrides_from_environment(char** environment) {
  std::vector<Override> out;
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    std::string_view variable = *environment;
    size_t equals = variable.find('=');
    if (!variable.starts_with(kEnvironmentPrefix) || equals == std::string_view::npos) continue;
    std::string name(variable.substr(0, equals));
    std::string key = name.substr(kEnvironmentPrefix.size());
    for (size_t at; (at = key.find("__")) != std::string::npos;) key.replace(at, 2, ".");
    for (char& c : key) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    out.push_back({std::move(key), std::string(variable.substr(equals + 1)), std::move(name)});
  }
  // The environment has no order of its own; this one sets a table before the keys in it.
  std::sort(out.begin(), out.end(), [](const Override& a, const Override& b) { return a.origin < b.origin; });
  return out;
}

}  // namespace atl::lib
