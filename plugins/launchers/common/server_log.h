/// What a server prints.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>

#include "atoll/pools/launcher.h"

namespace atl::launchers {

/// Finds out where a server listens by the lines that Triton and Atoll print when they do.
class AddressFinder {
 public:
  /// \param log  of the server; it may not be there yet
  explicit AddressFinder(std::string log) : log_(std::move(log)) {}

  /// Reads on; from the beginning of a log that has begun anew. \returns whether both are known
  bool look();
  /// As far as they are known. A server on all addresses is called on the loopback.
  const ServerAddress& address() const noexcept { return address_; }

 private:
  void read_line();

  const std::string log_;
  std::ifstream file_;
  std::string line_;  ///< as far as it was written
  ServerAddress address_;
};

/// Of a log its last line that is not empty, for people; at most 300 bytes. Empty: there is none.
std::string last_line(const std::string& log);

/// A log that is larger than that begins anew; what it was is "<log>.1" then. Something that is printed meanwhile is lost.
void limit_log(const std::string& log, uint64_t bytes) noexcept;

}  // namespace atl::launchers
