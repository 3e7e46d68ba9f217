// The server as a whole: address, options, drain, replacement, many connections.
#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "frontends/common/grpc/testing/frontend_fixture.h"

namespace atl::frontends::grpc_cases {
namespace {

using grpc::StatusCode;

size_t entries(const char* directory) {
  size_t count = 0;
  DIR* open = opendir(directory);
  while (readdir(open) != nullptr) ++count;
  closedir(open);
  return count;
}
size_t open_descriptors() { return entries("/proc/self/fd"); }
size_t threads() { return entries("/proc/self/task"); }

class ServerTest : public GrpcFrontendTest {
 protected:
  int64_t in_ms(int64_t ms) { return host_.clock().now_ns() + ms * kNsPerMs; }
  /// What the kernel does before drain().
  void drain(int64_t deadline_ns) {
    host_.gate().close();
    frontend_->drain(deadline_ns);
  }
};

TEST_F(ServerTest, LogsTheBoundAddress) {
  start();
  EXPECT_NE(frontend_->bound_port(), 0);
  EXPECT_TRUE(host_.log().contains("Started GRPCInferenceService at " + target()));
}

TEST_F(ServerTest, AnAddressThatCanNotBeReadIsRefused) {
  for (const char* address : {"", "8001", ":8001", "host:", "host:x", "host:70000", "host:-1", "::1:8001",
                              "[]:1", "[::1:8001", "127.0.0.1:8001x"}) {
    host_.options().set_string("address", address);
    GrpcFrontend frontend(host_);
    Status status = frontend.init();
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << address;
    EXPECT_NE(status.message().find("expected host:port"), std::string_view::npos) << status.message();
  }
}

TEST_F(ServerTest, AnAddressOfAnotherMachineIsRefused) {
  host_.options().set_string("address", "192.0.2.1:0");
  GrpcFrontend frontend(host_);
  ASSERT_TRUE(frontend.init().ok());
  EXPECT_FALSE(frontend.start().ok());
  EXPECT_EQ(host_.registry().holders(), 0u);
}

TEST_F(ServerTest, APortInUseIsRefused) {
  start();
  host_.options().set_string("address", target());
  GrpcFrontend second(host_);
  ASSERT_TRUE(second.init().ok());
  Status status = second.start();
  EXPECT_EQ(status.message(), "Socket '" + target() + "' already in use ");
}

TEST_F(ServerTest, NeedsACatalog) {
  host_.registry().withdraw(std::string(ModelCatalog::kInterfaceId), "models");
  GrpcFrontend frontend(host_);
  ASSERT_TRUE(frontend.init().ok());
  EXPECT_EQ(frontend.start().code(), Code::kNotFound);
}

TEST_F(ServerTest, WhileTheServerExitsRunningCallsFinishAndNewOnesAreRefused) {
  test::FakeServedModel& model = catalog_.add_identity("m");
  HeldRequests held(model);
  start();
  auto running = infer_async("m");
  held.wait();
  catalog_.set_exiting(true);
  drain(in_ms(600'000));
  EXPECT_EQ(frontend_->holding(), "1 gRPC call");
  const char* text = "GRPC server is shutting down and has stopped accepting new requests.";
  expect_status(infer_ok("m"), StatusCode::UNAVAILABLE, text);
  inference::ServerMetadataResponse metadata;
  grpc::ClientContext metadata_context;
  expect_status(stub_->ServerMetadata(&metadata_context, {}, &metadata), StatusCode::UNAVAILABLE, text);
  inference::ServerReadyResponse ready;
  grpc::ClientContext ready_context;
  expect_status(stub_->ServerReady(&ready_context, {}, &ready), StatusCode::UNAVAILABLE, "Server exiting");
  held.answer();
  EXPECT_TRUE(running.get().ok());
  EXPECT_TRUE(eventually([&] { return calls() == 0; }));
  EXPECT_EQ(frontend_->holding(), "");
}

TEST_F(ServerTest, AtTheDeadlineRunningCallsAreCancelled) {
  for (bool exiting : {true, false}) {
    host_.gate().open();
    catalog_.set_exiting(false);
    test::FakeServedModel& model = catalog_.add_identity("m");
    HeldRequests held(model);
    start();
    auto running = infer_async("m");
    held.wait();
    catalog_.set_exiting(exiting);
    drain(in_ms(20));
    EXPECT_TRUE(held.wait_cancelled());
    EXPECT_FALSE(running.get().ok());
    held.answer();
    stop();
    EXPECT_EQ(model.references(), 0);
  }
}

TEST_F(ServerTest, OutsideAnExitTheListenerClosesAtOnceAndRunningCallsFinish) {
  test::FakeServedModel& model = catalog_.add_identity("m");
  HeldRequests held(model);
  start();
  auto running = infer_async("m");
  held.wait();
  drain(in_ms(600'000));
  EXPECT_TRUE(eventually([&] {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(frontend_->bound_port()));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    bool refused = connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0;
    close(fd);
    return refused;
  }));
  held.answer();
  EXPECT_TRUE(running.get().ok());
}

TEST_F(ServerTest, TheNextGenerationTakesOverThePort) {
  catalog_.add_identity("m");
  start();
  std::shared_ptr<grpc::Channel> client = channel();
  auto stub = inference::GRPCInferenceService::NewStub(client);
  auto ask = [&] {
    grpc::ClientContext context;
    context.set_wait_for_ready(true);
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
    inference::ModelInferResponse response;
    return stub->ModelInfer(&context, request("m"), &response);
  };
  ASSERT_TRUE(ask().ok());

  test::FakeHost next_host("grpc", test::FakeHost::Threads::kReal);
  set_default_options(next_host.options());
  next_host.options().set_string("address", target());
  next_host.registry().publish<ModelCatalog>("models", catalog_);
  host_.set_retires(true);
  next_host.registry().publish<Listeners>("kernel", listeners_);
  GrpcFrontend next(next_host);
  ASSERT_TRUE(next.init().ok());
  Status status = next.start();
  ASSERT_TRUE(status.ok()) << status.text();
  EXPECT_EQ(next.bound_port(), frontend_->bound_port());

  drain(in_ms(600'000));
  stop();
  for (int i = 0; i < 20; ++i) {
    grpc::Status answer = ask();
    EXPECT_TRUE(answer.ok()) << answer.error_message();
  }
}

TEST_F(ServerTest, WhileAnotherTakesOverCallsAreAnsweredAndClientsMove) {
  catalog_.add_identity("m");
  start();
  std::vector<std::thread> clients;
  std::atomic<bool> over{false};
  std::atomic<int> answers{0};
  for (int i = 0; i < 4; ++i) {
    clients.emplace_back([&, stub = std::shared_ptr(inference::GRPCInferenceService::NewStub(channel()))] {
      while (!over) {
        grpc::ClientContext context;
        inference::ModelInferResponse response;
        const grpc::Status status = stub->ModelInfer(&context, request("m"), &response);
        EXPECT_TRUE(status.ok()) << status.error_code() << " " << status.error_message();
        ++answers;
      }
    });
  }
  auto more_answers = [&] { return eventually([&, wanted = answers + 100] { return answers > wanted; }); };
  EXPECT_TRUE(more_answers());

  test::FakeHost next_host("grpc", test::FakeHost::Threads::kReal);
  set_default_options(next_host.options());
  next_host.options().set_string("address", target());
  next_host.registry().publish<ModelCatalog>("models", catalog_);
  host_.set_retires(true);
  next_host.registry().publish<Listeners>("kernel", listeners_);
  GrpcFrontend next(next_host);
  ASSERT_TRUE(next.init().ok());
  ASSERT_TRUE(next.start().ok());
  drain(in_ms(600'000));
  EXPECT_TRUE(eventually([&] { return host_.gate().count() == 0; })) << "all clients have gone";
  stop();
  EXPECT_TRUE(more_answers());
  over = true;
  for (std::thread& client : clients) client.join();
}

TEST_F(ServerTest, ConnectionsOverTheLimitAreClosed) {
  catalog_.add_identity("m");
  host_.options().set_int("max_connections", 2);
  start();
  ASSERT_TRUE(infer_ok("m").ok());
  auto connect_one = [&] {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(frontend_->bound_port()));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    return fd;
  };
  auto is_open = [](int fd) {
    char first = 0;
    pollfd readable{fd, POLLIN, 0};
    return poll(&readable, 1, 30'000) == 1 && recv(fd, &first, 1, 0) == 1;  // the server's settings
  };
  const int second = connect_one();
  EXPECT_TRUE(is_open(second));
  const int third = connect_one();
  EXPECT_FALSE(is_open(third));
  EXPECT_TRUE(
      eventually([&] { return host_.log().contains("gRPC has as many connections as it may have (2)"); }));
  EXPECT_TRUE(infer_ok("m").ok());
  close(second);
  close(third);
  EXPECT_TRUE(eventually([&] {
    const int later = connect_one();
    const bool served = is_open(later);
    close(later);
    return served;
  }));
}

TEST_F(ServerTest, StartingAndStoppingLeavesNoThreadsAndDescriptors) {
  auto round = [&] {
    start();
    EXPECT_EQ(infer_ok("x").error_code(), StatusCode::NOT_FOUND);
    stub_.reset();
    stop();
  };
  round();  // gRPC's own threads and descriptors stay from here on
  const size_t threads_before = threads();
  const size_t descriptors_before = open_descriptors();
  for (int i = 0; i < 10; ++i) round();
  EXPECT_TRUE(eventually([&] { return threads() <= threads_before + 2; }))
      << threads() << " " << threads_before;
  EXPECT_TRUE(eventually([&] { return open_descriptors() <= descriptors_before + 2; }))
      << open_descriptors() << " " << descriptors_before;
}

TEST_F(ServerTest, AThousandConnectionsTakeNoThreadsAndGiveTheirDescriptorsBack) {
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  ASSERT_GE(limit.rlim_max, 4096u) << "this test needs 4,096 descriptors";
  limit.rlim_cur = std::max<rlim_t>(limit.rlim_cur, 4096);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  catalog_.add_identity("m");
  start();
  ASSERT_TRUE(infer_ok("m").ok());
  const size_t threads_before = threads();
  const size_t descriptors_before = open_descriptors();

  const std::string hello("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0", 33);
  std::vector<int> connections;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(frontend_->bound_port()));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  for (int i = 0; i < 1000; ++i) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    connections.push_back(fd);
    ASSERT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    ASSERT_EQ(send(fd, hello.data(), hello.size(), MSG_NOSIGNAL), static_cast<ssize_t>(hello.size()));
  }
  for (int fd : connections) {
    pollfd readable{fd, POLLIN, 0};
    ASSERT_EQ(poll(&readable, 1, 30'000), 1);
    char first = 0;
    ASSERT_EQ(recv(fd, &first, 1, 0), 1);  // the server's settings: it has accepted
  }
  EXPECT_TRUE(infer_ok("m").ok());
  EXPECT_LE(threads(), threads_before + 4) << "gRPC's own pool may grow by a few";
  EXPECT_GE(open_descriptors(), descriptors_before + 2000);
  for (int fd : connections) close(fd);
  EXPECT_TRUE(eventually([&] { return open_descriptors() <= descriptors_before + 4; }))
      << open_descriptors() << " of " << descriptors_before;
  EXPECT_TRUE(infer_ok("m").ok());
}

}  // namespace
}  // namespace atl::frontends::grpc_cases
