/// A double of the service manager's end of the notify socket.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "atoll/core/file_descriptor.h"
#include "atoll/core/text.h"
#include "atoll/testing/temporary_directory.h"

namespace atl::test {

/// Listens until it is destroyed; the messages wait until the test takes them.
class ManagerDouble {
 public:
  enum class Kind { kPath, kAbstract };

  explicit ManagerDouble(Kind kind = Kind::kPath)
      : address_(kind == Kind::kPath ? (folder_.path() / "notify").string()
                                     : cat("@atoll-systemd-test-", ::getpid())),
        socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, address_.data(), address_.size());
    if (kind == Kind::kAbstract) address.sun_path[0] = '\0';
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address_.size() +
                                             (kind == Kind::kAbstract ? 0 : 1));
    if (::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), size) != 0)
      throw std::runtime_error(cat(address_, ": ", std::strerror(errno)));
  }

  /// As NOTIFY_SOCKET has it.
  const std::string& address() const { return address_; }
  /// What came since the last call, a message each.
  std::vector<std::string> take() {
    std::vector<std::string> messages;
    char bytes[4096];
    ssize_t size = 0;
    while ((size = ::recv(socket_.get(), bytes, sizeof bytes, 0)) >= 0)
      messages.emplace_back(bytes, static_cast<size_t>(size));
    return messages;
  }

 private:
  TemporaryDirectory folder_;
  std::string address_;
  FileDescriptor socket_;
};

}  // namespace atl::test
