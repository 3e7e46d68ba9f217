/// Values of Triton's command line: what is taken, and the texts for what is not.
/// Source: server command line, "Parsing rules".
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/status.h"

namespace atl::tritonserver {

/// What a value is told that is none of the few that there are: "<what>: found '<v>', expected one of: a, b".
Status not_one_of(std::string_view what, std::string_view text, std::span<const std::string_view> values);

/// true, on, 1 or false, off, 0, in any case. Errors: "invalid value for bool option: found '<v>', expected one of: ...".
Result<bool> parse_bool(std::string_view text);

/// A leading number is enough: "5x" is 5. Errors: "Invalid option value. Got <v>" there is none; "Provided
/// option value is out of bound. Got <v>" it does not fit.
Result<int64_t> parse_integer(std::string_view text, int64_t minimum = std::numeric_limits<int32_t>::min(),
                              int64_t maximum = std::numeric_limits<int32_t>::max());
/// The same for numbers with a fraction.
Result<double> parse_number(std::string_view text);

/// The same text in lower case (ASCII).
std::string lower(std::string_view text);

/// The parts between the separators: at least one, which may be empty.
std::vector<std::string_view> split(std::string_view text, char separator);

/// "<scope>,<setting>=<value>" or "<setting>=<value>": the form of --backend-config and its like.
struct Setting {
  std::string scope;  ///< empty: none was written
  bool scoped = false;
  std::string name;
  std::string value;
};
/// \param option  "backend-config"; \param scope_word  "backend name". Errors: "--<option> option format is
/// '<<scope_word>>,<setting>=<value>'. Got <v>".
Result<Setting> parse_setting(std::string_view text, std::string_view option, std::string_view scope_word);

/// "<first>:<second>", as --cuda-memory-pool-byte-size has it.
struct Pair {
  std::string_view first;
  std::string_view second;
};
Result<Pair> parse_pair(std::string_view text);

}  // namespace atl::tritonserver
