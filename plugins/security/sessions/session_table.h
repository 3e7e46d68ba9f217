/// Who has logged in.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "atoll/core/clock.h"
#include "atoll/core/status.h"

namespace atl::sessions {

/// Random ids, each for the token that somebody has logged in with. [any]
class SessionTable {
 public:
  /// \param most  sessions at a time: one more ends the oldest
  SessionTable(const Clock& clock, int64_t lifetime_ns, uint64_t most)
      : clock_(clock), lifetime_ns_(lifetime_ns), most_(most) {}

  /// \returns the id: 64 hexadecimal digits, of 256 random bits
  /// Errors: INTERNAL the system gives no random bits.
  Result<std::string> add(std::string token);
  struct Found {
    std::string token;  ///< empty: there is no such session, or it has ended
    int64_t ends_ns = 0;
  };
  /// Takes the same time for every id that is wrong in its second half.
  Found find(std::string_view id) const;
  void remove(std::string_view id);
  uint64_t size() const;

 private:
  struct Session {
    std::string secret;
    std::string token;
    int64_t ends_ns = 0;
  };

  const Clock& clock_;
  const int64_t lifetime_ns_;
  const uint64_t most_;
  mutable std::mutex mutex_;
  std::map<std::string, Session, std::less<>> sessions_;  ///< by the first half of the id
};

}  // namespace atl::sessions
