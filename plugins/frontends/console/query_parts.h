/// What is behind the '?' of an address, and how it is compared.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "atoll/core/status.h"

namespace atl::frontends::console {

/// "a%20b=c&d" as {"a b", "c"} and {"d", ""}; empty parts are left out. Names are as they were sent. [any]
std::vector<std::pair<std::string, std::string>> query_parts(std::string_view query);

/// Whether the part is in the text, without regard to the case of ASCII letters. [any]
bool contains_text(std::string_view text, std::string_view part) noexcept;

/// Errors: INVALID_ARGUMENT no number from 0 on, with nothing beside its digits, that fits.
/// \param name  of the part, for the text
Status read_number(std::string_view name, const std::string& value, uint64_t* number);

}  // namespace atl::frontends::console
