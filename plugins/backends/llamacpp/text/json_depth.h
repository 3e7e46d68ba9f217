/// How deep a client's JSON is nested.
#pragma once

#include <cstddef>
#include <string_view>

namespace atl::llamacpp {

/// Deeper than any chat, schema or list of options. What writes JSON, and llama.cpp's reader of it, are recursive.
inline constexpr size_t kJsonDepthMax = 64;

/// Whether arrays and objects of the text lie more than kJsonDepthMax in each other. The text may be any bytes.
bool is_too_deep_json(std::string_view json) noexcept;

}  // namespace atl::llamacpp
