/// Access by keys that the manifest holds.
#pragma once

#include <string>
#include <vector>

#include "atoll/frontend/access.h"
#include "security/keys/key_table.h"

namespace atl::keys {

/// Answers at once. Read-only after parse(). [any]
class Keys final : public Access {
 public:
  /// Every call is free.
  Keys() noexcept = default;
  virtual ~Keys() = default;

  /// \param protocols  for gRPC, entries as KeyTable::parse() takes them; the value is presented in the metadata
  /// `triton-grpc-protocol-<key>` \param apis  for HTTP, presented in the header <key>
  /// Errors: INVALID_ARGUMENT of KeyTable::parse(); a key that cannot be the name of metadata.
  static Result<Keys> parse(const std::vector<std::string>& protocols,
                            const std::vector<std::string>& apis) noexcept;

  // --- Access ---
  /// The caller's name is that of the key. Errors: those that Triton's clients know: UNAVAILABLE over gRPC,
  /// PERMISSION_DENIED over HTTP.
  Result<AccessOutcome> ask(const AccessQuestion& question, AccessWaiter& waiter,
                            std::string_view* caller) noexcept override;

 private:
  KeyTable protocols_;
  KeyTable apis_;
};

}  // namespace atl::keys
