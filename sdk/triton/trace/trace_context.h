/// The text that goes with a trace from program to program: a JSON object.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace atl::triton {

/// Adds a member, named by the number, whose value is the text. What is no object stays as it is.
void add_member(std::string& context, uint64_t number, std::string_view text);

/// The value of the member "traceparent"; empty: there is none.
std::string_view traceparent_of(std::string_view context) noexcept;

}  // namespace atl::triton
