/// What keeps bytes under keys.
#pragma once

#include <string>
#include <string_view>

#include "atoll/core/status.h"

namespace atl::caches {

/// Code that is not the server's: what it gives is checked, and it may take its time. [any]
class AnswerLibrary {
 public:
  virtual ~AnswerLibrary() = default;

  /// Errors: NOT_FOUND nothing is kept under this key; others as the library has them. Throws std::bad_alloc.
  virtual Result<std::string> look_up(const std::string& key) = 0;
  /// \param bytes  not empty
  /// Errors: ALREADY_EXISTS the key has something, which stays; others as the library has them. Throws std::bad_alloc.
  virtual Status insert(const std::string& key, std::string_view bytes) = 0;
};

}  // namespace atl::caches
