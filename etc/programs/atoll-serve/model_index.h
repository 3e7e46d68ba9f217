/// Which models the server has, asked over HTTP.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/status.h"

namespace atl::serve {

/// A model's version, as the server's index has it.
struct IndexedModel {
  std::string name;
  std::string version;
  std::string state;  ///< LOADING, READY, UNLOADING, UNAVAILABLE; empty: nothing was done with it
  std::string reason;
};

/// The index in the text of an answer. Errors: INVALID_ARGUMENT the text is something else.
Result<std::vector<IndexedModel>> read_index(std::string_view text);

/// Asks the server that listens there. \param tls_cert  PEM file of its certificate; empty: without TLS \param interrupt  a descriptor; as soon as it can be read nothing more is
/// awaited \returns null: the server does not answer yet, or the wait was interrupted. Errors: FAILED_PRECONDITION
/// it refuses to say.
Result<std::optional<std::vector<IndexedModel>>> ask_index(const std::string& address,
                                                           const std::string& tls_cert, int interrupt);

}  // namespace atl::serve
