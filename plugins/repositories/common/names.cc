#include "repositories/common/names.h"

#include <charconv>

#include "atoll/core/utf8.h"
#include "atoll/lib/entry_name.h"

namespace atl::filesystem {

Status check_model_name(std::string_view name) {
  if (!is_utf8(name)) return invalid_argument("invalid model name: it is not valid UTF-8");
  if (without_blanks(name).empty()) {
    return invalid_argument("Model name cannot be empty. Please enter a valid name to deploy.");
  }
  if (leaves_directory(name)) {
    return invalid_argument("invalid model name '", name,
                            "', model name must not contain path traversal characters");
  }
  if (name.find('\0') != std::string_view::npos) {
    return invalid_argument("invalid model name: it contains a NUL byte");
  }
  if (name.size() > kModelNameBytesMax) {
    return invalid_argument("invalid model name: it has ", name.size(), " bytes, expected at most ",
                            kModelNameBytesMax);
  }
  if (name.front() == '.') {
    return not_found("model '", name, "' is not found: hidden directories are not models");
  }
  return {};
}

std::optional<int64_t> parse_version(std::string_view name) noexcept {
  if (name.empty() || name.front() < '1' || name.front() > '9') return std::nullopt;
  int64_t version = 0;
  auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), version);
  if (error != std::errc() || end != name.data() + name.size()) return std::nullopt;
  return version;
}

std::string_view version_refusal(std::string_view name) noexcept {
  bool digits = !name.empty() && name.find_first_not_of("0123456789") == std::string_view::npos;
  if (!digits) return "its name is not a number";
  if (name == "0") return "versions begin at 1";
  if (name.front() == '0') return "its name has a leading zero";
  return "its number is greater than 9223372036854775807";
}

bool is_layout_directory(std::string_view name) noexcept {
  return name == "warmup" || name == "initial_state" || name == "configs";
}

}  // namespace atl::filesystem
