/// A plugin's option table, applied as the server applies it to a table of a manifest.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "atoll/abi/plugin.h"
#include "atoll/core/text.h"
#include "atoll/runtime/option_values.h"
#include "atoll/runtime/problems.h"
#include "atoll/testing/fake_options.h"

namespace atl::test {

/// Option keys and their values as texts: as defaults stand in option tables, so strings, durations and sizes
/// bare ("30s"), lists and maps as in a manifest (["a", "b"]).
using OptionTexts = std::map<std::string, std::string, std::less<>>;

/// Sets an option to the value of that key.
inline void set_option(FakeOptions& options, const atoll_option_v1& row, const Options& values) {
  switch (row.type) {
    case ATOLL_OPTION_BOOL:
      options.set_bool(row.key, values.get_bool(row.key));
      break;
    case ATOLL_OPTION_INT:
      options.set_int(row.key, values.get_int(row.key));
      break;
    case ATOLL_OPTION_FLOAT:
      options.set_float(row.key, values.get_float(row.key));
      break;
    case ATOLL_OPTION_STRING:
      options.set_string(row.key, values.get_string(row.key));
      break;
    case ATOLL_OPTION_DURATION:
      options.set_duration_ns(row.key, values.get_duration_ns(row.key));
      break;
    case ATOLL_OPTION_BYTES:
      options.set_bytes(row.key, values.get_bytes(row.key));
      break;
    case ATOLL_OPTION_STRING_LIST:
      options.set_strings(row.key, values.get_strings(row.key));
      break;
    case ATOLL_OPTION_STRING_MAP:
      options.set_map(row.key, values.get_map(row.key));
      break;
    default:
      break;  // the check of a descriptor refuses it
  }
}

/// Gives every option of the table its value: that of its text, else what it was set to before, else its
/// default. Checked like a manifest's table [`section`]. Errors: INVALID_ARGUMENT, one line for each problem
/// in the server's words, such as a key that the table does not have; nothing is set then.
inline Status apply_option_table(std::span<const atoll_option_v1> table, const OptionTexts& texts,
                                 FakeOptions& options, std::string_view section = "plugin.test") {
  auto find_row = [table](std::string_view key) {
    return std::find_if(table.begin(), table.end(), [key](const auto& row) { return key == row.key; });
  };
  runtime::RawValue::Table values;
  for (const auto& [key, text] : texts) {
    auto& value = values.emplace_back();
    value.key = key;
    value.where.file = value.value.where.file = cat("\"", key, "\"");
    auto row = find_row(key);
    const bool is_bare = row == table.end() || row->type == ATOLL_OPTION_STRING ||
                         row->type == ATOLL_OPTION_DURATION || row->type == ATOLL_OPTION_BYTES;
    auto literal = is_bare ? std::nullopt : runtime::parse_literal(text);
    if (literal) {
      value.value.data = std::move(literal->data);
    } else {
      value.value.data = text;
    }
  }
  // A row whose option the test has set is neither missing nor to be overwritten.
  std::vector<atoll_option_v1> open(table.begin(), table.end());
  std::erase_if(open, [&](const auto& row) { return options.has(row.key) && !texts.contains(row.key); });
  runtime::Problems problems;
  auto checked = runtime::read_options(section, {std::string(section)}, values, open, {}, problems);
  ATOLL_RETURN_IF_ERROR(problems.status());
  for (const atoll_option_v1& row : open) set_option(options, row, *checked);
  return {};
}

}  // namespace atl::test
