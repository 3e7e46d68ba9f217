/// Finds what a misspelt name was probably meant to be.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace atl::pbtxt {

/// The candidate that takes the fewest single-character changes (insert, delete, replace, swap of
/// neighbours), letter case aside, and of several the one that begins alike; if all are further away than a third of the name, the only one that begins
/// or ends with it as words do ("max_queue_delay", "FP32"). Else nothing, and nothing for long names.
std::optional<std::string> nearest(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace atl::pbtxt
