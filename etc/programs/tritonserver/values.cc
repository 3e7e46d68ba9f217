#include "values.h"

#include <cerrno>
#include <cmath>
#include <cstdlib>

namespace atl::tritonserver {

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (size_t at; (at = text.find(separator)) != std::string_view::npos; text.remove_prefix(at + 1)) {
    parts.push_back(text.substr(0, at));
  }
  parts.push_back(text);
  return parts;
}

Status not_one_of(std::string_view what, std::string_view text, std::span<const std::string_view> values) {
  std::string list;
  for (std::string_view value : values) list += cat(list.empty() ? "" : ", ", value);
  return invalid_argument(what, ": found '", text, "', expected one of: ", list);
}

Result<bool> parse_bool(std::string_view text) {
  std::string word = lower(text);
  if (word == "true" || word == "on" || word == "1") return true;
  if (word == "false" || word == "off" || word == "0") return false;
  constexpr std::string_view kValues[] = {"true", "on", "1", "false", "off", "0"};
  return not_one_of("invalid value for bool option", text, kValues);
}

Result<int64_t> parse_integer(std::string_view text, int64_t minimum, int64_t maximum) {
  std::string terminated(text);
  char* end = nullptr;
  errno = 0;
  long long value = std::strtoll(terminated.c_str(), &end, 10);
  if (end == terminated.c_str()) return invalid_argument("Invalid option value. Got ", text);
  if (errno == ERANGE || value < minimum || value > maximum) {
    return invalid_argument("Provided option value is out of bound. Got ", text);
  }
  return int64_t{value};
}

Result<double> parse_number(std::string_view text) {
  std::string terminated(text);
  char* end = nullptr;
  double value = std::strtod(terminated.c_str(), &end);
  if (end == terminated.c_str()) return invalid_argument("Invalid option value. Got ", text);
  if (!std::isfinite(value)) {
    return invalid_argument("Provided option value is out of bound. Got ", text);
  }
  return value;
}

Result<Setting> parse_setting(std::string_view text, std::string_view option, std::string_view scope_word) {
  size_t equals = text.find('=');
  auto refuse = [&]() -> Status {
    return invalid_argument("--", option, " option format is '<", scope_word, ">,<setting>=<value>'. Got ",
                            text);
  };
  if (equals == std::string_view::npos) return refuse();
  std::string_view name = text.substr(0, equals);
  Setting setting;
  setting.value = text.substr(equals + 1);
  size_t comma = name.find(',');
  if (comma != std::string_view::npos) {
    setting.scoped = true;
    setting.scope = name.substr(0, comma);
    name.remove_prefix(comma + 1);
  }
  setting.name = name;
  if (setting.name.empty() || setting.value.empty()) return refuse();
  return setting;
}

Result<Pair> parse_pair(std::string_view text) {
  auto parts = split(text, ':');
  if (parts.size() == 2) return Pair{parts[0], parts[1]};
  return invalid_argument(
      "Cannot parse pair option due to incorrect number of inputs.--<pair option> argument requires format "
      "<first>:<second>. Found: ",
      text);
}

}  // namespace atl::tritonserver
