/// What a loaded shared object exports beside what it should.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace atl::runtime {

/// AddressSanitizer adds a symbol for each variable that is exported: not the author's.
inline bool is_sanitizers_own(std::string_view symbol) noexcept { return symbol.starts_with("__odr_asan."); }

/// The names, other than `expected`, that the object around `address` lets others bind to.
std::vector<std::string> exports_beside(const void* address, std::string_view expected);

/// "exports 110 symbols beside atoll_plugin_v1 (a, b, c and 107 more); link with ...", as the server and the
/// lint say it. \param names  at least one.
std::string exports_text(const std::vector<std::string>& names, std::string_view expected);

/// "a, b, c and 107 more"
std::string shortened_list(const std::vector<std::string>& names);

}  // namespace atl::runtime
