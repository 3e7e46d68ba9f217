/// Which build of Atoll a program is.
#pragma once

#include <string>
#include <string_view>

namespace atl::lib {

/// What `PROGRAM --version` prints, without a newline at its end:
///
///     atoll 0.1.0
///     commit 3f1c0a9b2d4e+dirty
///     build itanium-abi1017/libstdc++cxx11/sanitizer=none/layout=5
///
/// The commit is "unknown" in what was not built in a git checkout, and has "+dirty" where files differed from the
/// commit. The last line is the tag that plugins must have, too.
std::string version_text(std::string_view program);

}  // namespace atl::lib
