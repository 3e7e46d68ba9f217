/// Callers by the tokens of a file.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "atoll/core/host.h"
#include "atoll/core/replaceable.h"
#include "atoll/frontend/access.h"
#include "atoll/lib/file_watch.h"
#include "security/keys/key_file.h"

namespace atl::keys {

class TokenSource {
 public:
  /// \param opens_probes  calls that ask whether the server lives or is ready are open to all
  TokenSource(Host& host, std::string path, bool opens_probes, int64_t poll_interval_ns);
  ~TokenSource() { keys_.close(); }

  /// Reads the file and follows its changes. [control] Errors: those of KeySet::read(), FileWatch::start().
  Status start();
  /// As Access::identify(). [request]
  Result<IdentityOutcome> identify(const AccessQuestion& question,
                                   std::shared_ptr<const Identity>* identity) const noexcept;

 private:
  Status read();
  /// A file that is no use changes nothing but the log.
  void renew() noexcept;

  Host& host_;
  const std::string path_;
  const bool opens_probes_;
  std::mutex mutex_;                ///< of readings
  std::shared_ptr<KeySet> newest_;  ///< under it
  Replaceable<std::shared_ptr<const KeySet>> keys_;
  FileWatch watch_;  ///< ends first
};

}  // namespace atl::keys
