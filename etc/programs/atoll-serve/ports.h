/// Which port an endpoint listens on.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "atoll/core/status.h"

namespace atl::serve {

/// One of the three endpoints.
struct ServeEndpoint {
  const char* word;      ///< "HTTP", in messages
  const char* instance;  ///< "http", in the manifest and in flags
  bool allowed = true;
  std::string address = "127.0.0.1";
  std::optional<uint16_t> asked = {};  ///< null: nobody has asked for one; 0: a free one
  uint16_t usual = 0;                  ///< what is tried first where nobody has asked

  uint16_t port = 0;  ///< what was chosen

  /// "127.0.0.1:8000"
  std::string text() const;
  /// The same as a client on this machine reaches it.
  std::string client_text() const;
};

/// Chooses the ports of those that are allowed: nobody listens there at this moment. \returns a line for each usual
/// port that is taken. Errors: INVALID_ARGUMENT no such address, or two that asked for the same; UNAVAILABLE one
/// that was asked for is taken.
Result<std::vector<std::string>> choose_ports(std::span<ServeEndpoint> endpoints);

}  // namespace atl::serve
