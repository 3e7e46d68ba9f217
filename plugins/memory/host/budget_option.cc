#include "memory/host/budget_option.h"

#include <charconv>
#include <optional>

#include "atoll/core/quantity.h"

namespace atl::memory {

Result<uint64_t> budget_bytes(std::string_view text, uint64_t usable_bytes) noexcept {
  if (text.ends_with('%')) {
    const std::string_view digits = text.substr(0, text.size() - 1);
    uint32_t percent = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), percent);
    if (error == std::errc() && end == digits.data() + digits.size() && percent <= 100) {
      return usable_bytes / 100 * percent + usable_bytes % 100 * percent / 100;
    }
  } else if (const std::optional<uint64_t> bytes = parse_bytes(text)) {
    return *bytes;
  }
  return invalid_argument(
      "option 'request_budget' is '", text,
      "', expected a size such as \"4GiB\", a share such as \"50%\" (of the memory that the process "
      "may use, 0% to 100%), or \"0\" for no limit");
}

}  // namespace atl::memory
