/// The key of a request in a cache that several servers share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "atoll/request/request.h"

namespace atl::caches {

struct ContentKey {
  std::string text;   ///< "<prefix><model>:<version>:<64 hexadecimal digits>"
  uint64_t hash = 0;  ///< some bits of it
};

/// SHA-256 over the model's content and the request's KeyParts: nobody can make two requests of one key, though the
/// function is known to everybody.
/// \param process  stands for the model where its content is not known; drawn when the process started
/// \returns nothing if the inputs are not steady
std::optional<ContentKey> content_key_of(const Request& request, const std::string& prefix, uint64_t process);

}  // namespace atl::caches
