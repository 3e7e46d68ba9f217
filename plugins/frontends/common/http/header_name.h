/// Names of header fields, which count without regard to case.
#pragma once

#include <boost/beast/core/string.hpp>
#include <string_view>

namespace atl::frontends {

inline bool is_named(std::string_view name, std::string_view wanted) noexcept {
  return boost::beast::iequals({name.data(), name.size()}, {wanted.data(), wanted.size()});
}

}  // namespace atl::frontends
