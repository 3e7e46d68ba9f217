/// Finds what a misspelt name was probably meant to be.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace atl::pbtxt {

/// The candidate that takes the fewest single-character changes (insert, delete, replace, swap of
/// neighbours), letter case aside; nothing if all are further away than a third of the name. Long names get
/// nothing.
std::optional<std::string> nearest(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace atl::pbtxt
