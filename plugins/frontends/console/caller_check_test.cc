#include "frontends/console/caller_check.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "atoll/core/file_descriptor.h"

namespace atl::frontends::console {
namespace {

const std::vector<std::string> kAllowed = {"localhost", "127.0.0.1", "::1"};

TEST(AllowedHost, NamesWithAndWithoutPort) {
  for (const char* host :
       {"localhost", "localhost:8000", "LocalHost:1", "127.0.0.1:65535", "[::1]", "[::1]:8000"})
    EXPECT_TRUE(is_allowed_host(host, kAllowed)) << host;
}

TEST(AllowedHost, OthersAreRefused) {
  for (const char* host :
       {"", ":", ":8000", "evil.example", "evil.example:8000", "localhost.evil.example", "localhost.",
        "localhost:", "localhost:80x", "localhost:8000:1", "localhost:800000", "[::1", "[::1]8000", "[]",
        "localhost@evil.example", "127.0.0.1 ", "::1", "127.1"})
    EXPECT_FALSE(is_allowed_host(host, kAllowed)) << host;
  EXPECT_FALSE(is_allowed_host("localhost", {}));
}

FileDescriptor bound_to(int family, const char* address) {
  FileDescriptor fd(::socket(family, SOCK_STREAM, 0));
  sockaddr_storage storage{};
  socklen_t size = 0;
  storage.ss_family = static_cast<sa_family_t>(family);
  if (family == AF_INET) {
    size = sizeof(sockaddr_in);
    inet_pton(family, address, &reinterpret_cast<sockaddr_in&>(storage).sin_addr);
  } else {
    size = sizeof(sockaddr_in6);
    inet_pton(family, address, &reinterpret_cast<sockaddr_in6&>(storage).sin6_addr);
  }
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&storage), size) != 0) return {};
  return fd;
}

TEST(LocalSocket, TheLoopbackAlone) {
  EXPECT_TRUE(is_local_socket(bound_to(AF_INET, "127.0.0.1").get()));
  EXPECT_TRUE(is_local_socket(bound_to(AF_INET, "127.9.9.9").get()));
  EXPECT_FALSE(is_local_socket(bound_to(AF_INET, "0.0.0.0").get()));
  EXPECT_FALSE(is_local_socket(-1));
  if (const FileDescriptor six = bound_to(AF_INET6, "::1"); six.get() >= 0) {
    EXPECT_TRUE(is_local_socket(six.get()));
    EXPECT_FALSE(is_local_socket(bound_to(AF_INET6, "::").get()));
    EXPECT_TRUE(is_local_socket(bound_to(AF_INET6, "::ffff:127.0.0.1").get()));
  }
}

}  // namespace
}  // namespace atl::frontends::console
