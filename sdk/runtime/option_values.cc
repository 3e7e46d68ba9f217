#include "atoll/runtime/option_values.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "atoll/core/moved_option.h"
#include "atoll/runtime/option_table.h"
#include "atoll/runtime/value_text.h"

namespace atl::runtime {
namespace {

/// The innermost value that does not fit: an element of a list or map, else the value itself.
const RawValue& culprit(uint32_t type, const RawValue& raw) {
  auto is_string = [](const RawValue& value) { return std::holds_alternative<std::string>(value.data); };
  if (const auto* array = std::get_if<RawValue::Array>(&raw.data);
      array && type == ATOLL_OPTION_STRING_LIST) {
    for (const auto& element : *array) {
      if (!is_string(element)) return element;
    }
  }
  if (const auto* table = raw.table(); table && type == ATOLL_OPTION_STRING_MAP) {
    for (const auto& member : *table) {
      if (!is_string(member.value)) return member.value;
    }
  }
  return raw;
}

/// ", at most 2562047h" for a duration whose only mistake is its length, and the like for a size, if the option has no limit of its
/// own; else empty.
std::string_view limit_text(const atoll_option_v1& row, const std::string* text) {
  if (text == nullptr || row.maximum != nullptr) return "";
  if (row.type == ATOLL_OPTION_DURATION) return duration_limit_text(*text);
  if (row.type == ATOLL_OPTION_BYTES) return bytes_limit_text(*text);
  return "";
}

bool read_value(std::string_view section, const atoll_option_v1& row, const RawValue& raw, TypedValue& out,
                Problems& problems) {
  auto value = typed_value(row.type, raw);
  if (value && is_allowed(row, *value)) {
    out = std::move(*value);
    return true;
  }
  const RawValue& wrong = culprit(row.type, raw);
  const auto* text = std::get_if<std::string>(&raw.data);
  const std::string found = is_secret(row) ? "a value that is not shown" : found_text(wrong);
  problems.add(wrong.where, section, '.', row.key, ": found ", found, ", expected ", expected_text(row),
               limit_text(row, text), text == nullptr ? "" : suggestion(*text, choices_of(row)));
  return false;
}

bool is_moved(const atoll_option_v1& row) { return (row.flags & ATOLL_OPTION_MOVED) != 0; }

void add_unknown_key(std::string_view section, const RawValue::Member& option,
                     std::span<const atoll_option_v1> table, std::span<const atoll_option_v1> other_keys,
                     Problems& problems) {
  std::vector<std::string_view> known;
  for (const auto& row : other_keys) known.push_back(row.key);
  std::string hint;
  for (const auto& row : table) {
    if (!is_moved(row)) {
      known.push_back(row.key);
    } else if (option.key == row.key) {
      hint = cat(", it is an option of ", row.help, " now");
    }
  }
  if (hint.empty()) hint = suggestion(option.key, known);
  problems.add(option.where, "unknown key '", option.key, "' in [", section, "]", hint);
}

}  // namespace

template <class T>
const T& OptionValues::get(std::string_view key, uint32_t type) const noexcept {
  auto found = values_.find(key);
  if (found != values_.end() && found->second.type == type) return *std::get_if<T>(&found->second.data);
  defect(key, found == values_.end() ? "that is not in its option table"
                                     : "as another type than its option table's");
  static const T kEmpty{};
  return kEmpty;
}

void OptionValues::defect(std::string_view key, std::string_view problem) const noexcept {
  std::lock_guard lock(mutex_);
  defect_ = cat("it asked for option '", key, "' ", problem);
  if (!sealed_.load()) return;
  std::fprintf(stderr, "atoll: a plugin is wrong: %s\n", defect_.c_str());
  std::abort();
}

std::string OptionValues::take_defect() const noexcept {
  std::lock_guard lock(mutex_);
  return std::exchange(defect_, {});
}

void OptionValues::set_for_trial(std::span<const atoll_option_v1> table, std::string_view folder,
                                 std::string_view name) {
  for (const atoll_option_v1& row : table) {
    auto* text = std::get_if<std::string>(&values_.find(row.key)->second.data);
    if (text == nullptr || text->empty()) continue;
    const size_t colon = text->rfind(':');
    if ((row.flags & ATOLL_OPTION_LISTENS) != 0 && colon != std::string::npos)
      text->replace(colon, std::string::npos, ":0");
    if ((row.flags & ATOLL_OPTION_STATE) != 0) *text = cat(folder, "/", name, ".", row.key);
  }
}

bool OptionValues::get_bool(std::string_view key) const noexcept { return get<bool>(key, ATOLL_OPTION_BOOL); }
int64_t OptionValues::get_int(std::string_view key) const noexcept {
  return get<int64_t>(key, ATOLL_OPTION_INT);
}
double OptionValues::get_float(std::string_view key) const noexcept {
  return get<double>(key, ATOLL_OPTION_FLOAT);
}
const std::string& OptionValues::get_string(std::string_view key) const noexcept {
  return get<std::string>(key, ATOLL_OPTION_STRING);
}
int64_t OptionValues::get_duration_ns(std::string_view key) const noexcept {
  return get<int64_t>(key, ATOLL_OPTION_DURATION);
}
uint64_t OptionValues::get_bytes(std::string_view key) const noexcept {
  return get<uint64_t>(key, ATOLL_OPTION_BYTES);
}
const std::vector<std::string>& OptionValues::get_strings(std::string_view key) const noexcept {
  return get<std::vector<std::string>>(key, ATOLL_OPTION_STRING_LIST);
}
const std::map<std::string, std::string>& OptionValues::get_map(std::string_view key) const noexcept {
  return get<std::map<std::string, std::string>>(key, ATOLL_OPTION_STRING_MAP);
}

std::unique_ptr<OptionValues> read_options(std::string_view section, const SourceLocation& where,
                                           const RawValue::Table& options,
                                           std::span<const atoll_option_v1> table,
                                           std::span<const atoll_option_v1> other_keys, Problems& problems) {
  OptionValues::Values values;
  std::set<std::string, std::less<>> refused;
  for (const auto& row : table) {
    values[row.key] = default_value(row);
    bool given = std::any_of(options.begin(), options.end(),
                             [&](const auto& option) { return option.key == row.key; });
    if (!given && (row.flags & ATOLL_OPTION_REQUIRED) != 0) {
      problems.add(where, section, '.', row.key, ": found nothing, expected ", expected_text(row));
      refused.insert(row.key);
    }
  }
  for (const auto& option : options) {
    auto row = std::find_if(table.begin(), table.end(), [&](const auto& r) { return option.key == r.key; });
    if (row == table.end() || is_moved(*row)) {
      add_unknown_key(section, option, table, other_keys, problems);
    } else if (!read_value(section, *row, option.value, values[row->key], problems)) {
      refused.insert(row->key);
    }
  }
  return std::make_unique<OptionValues>(std::move(values), std::move(refused));
}

}  // namespace atl::runtime
