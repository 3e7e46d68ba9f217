/// Paths of routes, and patterns of them.
#pragma once

#include <string_view>

namespace atl::frontends {

/// Whether a path fits a pattern: a '*' at its end takes any rest, any other '*' at least one byte.
bool fits_route(std::string_view pattern, std::string_view path) noexcept;

/// Why a text cannot be a path or a pattern; empty: it can.
std::string_view wrong_route_path(std::string_view path) noexcept;

}  // namespace atl::frontends
