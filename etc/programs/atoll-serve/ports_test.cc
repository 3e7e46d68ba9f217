#include "ports.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>

#include "atoll/core/file_descriptor.h"
#include "atoll/core/text.h"

namespace atl::serve {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// A socket that listens on the loopback, for as long as this lives.
struct Listener {
  explicit Listener(uint16_t wanted = 0) : socket(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in where{};
    where.sin_family = AF_INET;
    where.sin_port = htons(wanted);
    where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof where;
    auto* generic = reinterpret_cast<sockaddr*>(&where);
    const bool listens = ::bind(socket.get(), generic, size) == 0 && ::listen(socket.get(), 1) == 0 &&
                         ::getsockname(socket.get(), generic, &size) == 0;
    port = listens ? ntohs(where.sin_port) : 0;
  }
  FileDescriptor socket;
  uint16_t port;
};

/// Usual ports are those of listeners' neighbours, so that no test needs the true ones.
std::array<ServeEndpoint, 2> two_endpoints() {
  return {ServeEndpoint{.word = "HTTP", .instance = "http"},
          ServeEndpoint{.word = "gRPC", .instance = "grpc"}};
}

TEST(Ports, ZeroTakesFreeOnes) {
  auto endpoints = two_endpoints();
  for (ServeEndpoint& endpoint : endpoints) endpoint.asked = 0;
  auto lines = choose_ports(endpoints);
  ASSERT_TRUE(lines.ok()) << lines.status().text();
  EXPECT_THAT(*lines, ElementsAre());
  for (const ServeEndpoint& endpoint : endpoints) {
    EXPECT_GE(endpoint.port, 20'000);
    EXPECT_LT(endpoint.port, 32'768) << "the system may give it to a connection";
  }
  EXPECT_NE(endpoints[0].port, endpoints[1].port);
}

TEST(Ports, AUsualOneThatIsTakenIsReplacedAndSaid) {
  const Listener listener;
  auto endpoints = two_endpoints();
  endpoints[0].usual = listener.port;
  endpoints[1].asked = 0;
  auto lines = choose_ports(endpoints);
  ASSERT_TRUE(lines.ok()) << lines.status().text();
  EXPECT_NE(endpoints[0].port, listener.port);
  EXPECT_NE(endpoints[0].port, 0);
  EXPECT_THAT(*lines,
              ElementsAre(cat("port ", listener.port, " is taken; HTTP is at port ", endpoints[0].port)));
}

TEST(Ports, OneThatWasAskedForIsTakenOrAnError) {
  uint16_t port = 0;
  {
    const Listener listener;
    port = listener.port;
    auto endpoints = two_endpoints();
    endpoints[0].asked = port;
    const Status failure = choose_ports(endpoints).status().clone();
    EXPECT_EQ(failure.code(), Code::kUnavailable);
    EXPECT_EQ(failure.text(),
              cat("--http-port=", port, ": the port is taken; --http-port=0 takes a free one"));
    endpoints[0].allowed = false;
    EXPECT_TRUE(choose_ports(endpoints).ok()) << "an endpoint that is not allowed needs no port";
  }
  auto endpoints = two_endpoints();
  endpoints[0].asked = port;
  ASSERT_TRUE(choose_ports(endpoints).ok());
  EXPECT_EQ(endpoints[0].port, port);
}

TEST(Ports, NobodyIsGivenWhatAnotherAsksFor) {
  uint16_t port = Listener().port;
  auto endpoints = two_endpoints();
  endpoints[0].usual = port;
  endpoints[1].asked = port;
  ASSERT_TRUE(choose_ports(endpoints).ok());
  EXPECT_EQ(endpoints[1].port, port);
  EXPECT_NE(endpoints[0].port, port);
  endpoints[0].asked = port;
  EXPECT_EQ(choose_ports(endpoints).status().text(),
            cat("--grpc-port=", port, " is the port of another endpoint as well"));
}

TEST(Ports, AddressesThatAreNone) {
  for (const char* address : {"", "192.0.2.1"}) {
    auto endpoints = two_endpoints();
    endpoints[0].address = address;
    const Status failure = choose_ports(endpoints).status().clone();
    EXPECT_EQ(failure.code(), Code::kInvalidArgument) << address;
    EXPECT_THAT(failure.text(), HasSubstr("--http-address")) << address;
    EXPECT_THAT(failure.text(), HasSubstr(address));
  }
}

TEST(Ports, AddressesAsTextAndForClients) {
  const auto texts = [](const char* address) {
    ServeEndpoint endpoint{.word = "HTTP", .instance = "http", .address = address, .port = 8000};
    return cat(endpoint.text(), " ", endpoint.client_text());
  };
  EXPECT_EQ(texts("127.0.0.1"), "127.0.0.1:8000 127.0.0.1:8000");
  EXPECT_EQ(texts("0.0.0.0"), "0.0.0.0:8000 localhost:8000");
  EXPECT_EQ(texts("::1"), "[::1]:8000 [::1]:8000");
  EXPECT_EQ(texts("[::]"), "[::]:8000 localhost:8000");
}

}  // namespace
}  // namespace atl::serve
