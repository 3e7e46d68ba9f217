/// Where the keys of models come from, and what they are now.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "atoll/core/host.h"
#include "atoll/core/options.h"
#include "atoll/lib/encryption_keys.h"
#include "atoll/lib/file_watch.h"

namespace atl::model_keys {

/// The one place that the options name.
struct KeyPlace {
  std::string file;          ///< path; empty: the descriptor
  int descriptor = -1;       ///< inherited
  std::string text() const;  ///< for messages

  /// \param credentials  the folder of systemd's credentials, CREDENTIALS_DIRECTORY of the environment; null: there is none
  /// Errors: INVALID_ARGUMENT not exactly one place is named; a credential's name that is none, or there are no credentials.
  static Result<KeyPlace> of(const Options& options, const char* credentials) noexcept;
};

/// Reads a place's keys, and a file's again when it has changed.
class KeySource {
 public:
  /// \param lock  the keys' memory is locked
  KeySource(Host& host, KeyPlace place, bool lock, int64_t poll_interval_ns);

  /// [control] Errors: those of EncryptionKeys::read(), FileWatch::start().
  Status start();
  /// Never null after start(). [any]
  std::shared_ptr<const EncryptionKeys> keys() const noexcept;
  const KeyPlace& place() const noexcept { return place_; }

 private:
  Status read();
  /// Keys that are no use change nothing but the log.
  void renew() noexcept;

  Host& host_;
  const KeyPlace place_;
  const bool lock_;
  std::mutex reading_;        ///< one reading at a time: the newest is taken last
  mutable std::mutex mutex_;  ///< for the next
  std::shared_ptr<const EncryptionKeys> keys_;
  std::optional<FileWatch> watch_;  ///< of a file; ends first
};

}  // namespace atl::model_keys
