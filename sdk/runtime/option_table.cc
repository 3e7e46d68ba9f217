#include "atoll/runtime/option_table.h"

#include <algorithm>
#include <array>
#include <set>

#include "atoll/core/option_table.h"
#include "atoll/runtime/problems.h"
#include "atoll/runtime/typed_value.h"

namespace atl::runtime {
namespace {

struct TypeText {
  std::string_view name;
  std::string_view example;
};

constexpr std::array<TypeText, 8> kTypes = {{{"boolean", " (true or false)"},
                                             {"integer", ""},
                                             {"number", ""},
                                             {"string", ""},
                                             {"duration", " (\"250ms\")"},
                                             {"bytes", " (\"64MiB\")"},
                                             {"list of strings", " ([\"a\", \"b\"])"},
                                             {"table of strings", " ({ key = \"value\" })"}}};

constexpr OptionTable kReservedOptions{
    option_string("use").help("The plugin, role/name; may be left out only if `file` is given."),
    option_bool("enabled", true).help("Whether the instance is made; a disabled one is still checked."),
    option_string("file").help("Path of the shared object; empty: searched in the plugin path."),
    option_string_map("needs").help(
        "Which instance shall provide an interface, where several could: { \"atoll.model_catalog/1\" = \"NAME\" }."),
};

bool is_number(uint32_t type) {
  return type == ATOLL_OPTION_INT || type == ATOLL_OPTION_FLOAT || type == ATOLL_OPTION_DURATION ||
         type == ATOLL_OPTION_BYTES;
}

/// The first defect of one row; empty: none.
std::string row_defect(const atoll_option_v1& row) {
  if (row.help == nullptr) return "has no help";
  if (row.type > ATOLL_OPTION_STRING_MAP) return cat("has type ", row.type, ", expected 0..7");
  if ((row.minimum != nullptr || row.maximum != nullptr) && !is_number(row.type)) {
    return "has a range, expected one on numbers only";
  }
  if (row.choices != nullptr && row.type != ATOLL_OPTION_STRING)
    return "has choices, expected them on strings only";
  if ((row.flags & ATOLL_OPTION_LISTENS) != 0 && row.type != ATOLL_OPTION_STRING &&
      row.type != ATOLL_OPTION_BOOL)
    return "says where the instance listens, expected that of strings and booleans only";
  if ((row.flags & ATOLL_OPTION_SHARES_PORTS) != 0 && row.type != ATOLL_OPTION_BOOL)
    return "says whether ports are shared, expected that of booleans only";
  for (const char* bound : {row.minimum, row.maximum}) {
    if (bound != nullptr && !parse_typed_value(row.type, bound)) {
      return cat("has bound '", bound, "', expected ", option_type_name(row.type));
    }
  }
  if (row.default_value == nullptr) return "";
  if ((row.flags & ATOLL_OPTION_REQUIRED) != 0) return "is required and has a default";
  auto value = parse_typed_value(row.type, row.default_value);
  if (!value || !is_allowed(row, *value)) {
    return cat("has default '", row.default_value, "', expected ", expected_text(row));
  }
  return "";
}

}  // namespace

std::span<const atoll_option_v1> reserved_options() { return kReservedOptions; }

Status check_option_table(std::span<const atoll_option_v1> table) {
  Problems problems;
  std::set<std::string_view> keys;
  for (size_t i = 0; i < table.size(); ++i) {
    const auto& row = table[i];
    std::string_view key = row.key == nullptr ? "" : row.key;
    if (!option_detail::is_key(key)) {
      problems.add_line(cat("option ", i, ": has key '", key, "', expected [a-z0-9_]{1,64}"));
      continue;
    }
    if (!keys.insert(key).second) problems.add_line(cat("option '", key, "' is in the table twice"));
    if (std::any_of(std::begin(kReservedOptions), std::end(kReservedOptions),
                    [&](const auto& reserved) { return key == reserved.key; })) {
      problems.add_line(cat("option '", key, "': this key is the kernel's own"));
    }
    if (auto defect = row_defect(row); !defect.empty()) {
      problems.add_line(cat("option '", key, "' ", defect));
    }
  }
  return problems.status();
}

std::string_view option_type_name(uint32_t type) {
  return type < kTypes.size() ? kTypes[type].name : "unknown";
}

std::vector<std::string_view> choices_of(const atoll_option_v1& row) {
  std::vector<std::string_view> out;
  std::string_view rest = row.choices == nullptr ? "" : row.choices;
  while (!rest.empty()) {
    size_t bar = std::min(rest.find('|'), rest.size());
    out.push_back(rest.substr(0, bar));
    rest.remove_prefix(std::min(bar + 1, rest.size()));
  }
  return out;
}

std::string range_text(const atoll_option_v1& row) {
  if (row.choices != nullptr) return row.choices;
  if (row.minimum != nullptr && row.maximum != nullptr) return cat(row.minimum, "..", row.maximum);
  if (row.minimum != nullptr) return cat("at least ", row.minimum);
  if (row.maximum != nullptr) return cat("at most ", row.maximum);
  return "";
}

std::string expected_text(const atoll_option_v1& row) {
  if (row.choices != nullptr) return cat("one of ", row.choices);
  if (row.type == ATOLL_OPTION_STRING && (row.flags & ATOLL_OPTION_LISTENS) != 0)
    return "string (\"127.0.0.1:8000\": host and port)";
  std::string range = range_text(row);
  return cat(option_type_name(row.type), row.type < kTypes.size() ? kTypes[row.type].example : "",
             range.empty() ? "" : ", ", range);
}

}  // namespace atl::runtime
