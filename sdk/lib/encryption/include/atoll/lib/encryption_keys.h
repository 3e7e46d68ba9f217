/// Keys that model files are encrypted with, by their ids.
///
/// A file of them has lines "ID:KEY". ID is 1 to 64 lower-case letters, digits and '-'; KEY is 64 hexadecimal digits, such as
/// `openssl rand -hex 32` writes. Empty lines and those that begin with '#' are left out.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/status.h"
#include "atoll/lib/locked_memory.h"

namespace atl {

inline constexpr size_t kEncryptionKeyBytes = 32;
using EncryptionKey = std::span<const std::byte, kEncryptionKeyBytes>;

/// Whether it is 1 to 64 lower-case letters, digits and '-'.
bool is_encryption_key_id(std::string_view text) noexcept;

/// Read-only after it was made. Movable. [any]
class EncryptionKeys {
 public:
  /// No key.
  EncryptionKeys() noexcept = default;
  /// \param lock  the keys' memory, and that of the text, is locked
  /// Errors: INVALID_ARGUMENT a line that cannot be read, by its number and without what stands there; an id that comes twice; no
  /// key at all; RESOURCE_EXHAUSTED those of LockedMemory.
  static Result<EncryptionKeys> parse(std::string_view text, bool lock) noexcept;
  /// Errors: those of parse(); INVALID_ARGUMENT the file cannot be read, is larger than 64 KiB, is no plain file, may be read by
  /// others than its owner and group, or written by others than its owner. All name the path.
  static Result<EncryptionKeys> read(const std::string& path, bool lock) noexcept;
  /// Reads a descriptor until its end: a file from its beginning, so that it can be read again, and a pipe as it comes, for 5 s at
  /// most. The descriptor stays open.
  /// Errors: those of parse(); INVALID_ARGUMENT it cannot be read, is no file and no pipe, has no end in time, or is larger than
  /// 64 KiB. All name the descriptor.
  static Result<EncryptionKeys> read(int descriptor, bool lock) noexcept;

  /// Borrowed from this object. Nothing: there is none of this id.
  std::optional<EncryptionKey> find(std::string_view id) const noexcept;
  /// In the order of the file.
  const std::vector<std::string>& ids() const noexcept { return ids_; }

 private:
  std::vector<std::string> ids_;
  LockedMemory keys_;  ///< in the same order
};

}  // namespace atl
