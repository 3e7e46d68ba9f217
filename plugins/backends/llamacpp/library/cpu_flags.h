/// Whether libraries that were compiled for one CPU run on this one.
#pragma once

#include <string>
#include <string_view>

namespace atl::llamacpp {

/// The flags of the first CPU in a text like /proc/cpuinfo, separated by blanks; empty: there are none.
std::string cpu_flags_of(std::string_view cpuinfo);

/// Those of `needed` that are not in `present`, both separated by blanks: "avx512f, avx512_vnni". Empty: none is missing.
std::string missing_cpu_flags(std::string_view needed, std::string_view present);

}  // namespace atl::llamacpp
