/// Files that say who may do what.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "atoll/core/status.h"

namespace atl::security {

struct IdentityFile {
  std::string path;
  std::string_view what;  ///< "file of keys", in errors
  int64_t most_bytes = 0;
  bool is_private = false;  ///< only its owner may write it, and only he and its group read it
};

/// \returns its text. Errors: INVALID_ARGUMENT, naming path and kind: it cannot be read, is no plain file, is too
/// large, or is private and open to all.
Result<std::string> read_identity_file(const IdentityFile& file) noexcept;

}  // namespace atl::security
