// Bodies and answers that take long to read or to write hold up nobody: here with one thread for all
// connections, and the work on the large ones held until the others were answered.
#include <semaphore>

#include "atoll/testing/fake_shared_memory.h"
#include "frontends/common/http/compression.h"
#include "frontends/http/testing/frontend_fixture.h"

namespace atl::frontends::http {
namespace {

/// Region "r", which whoever reads a request, or an answer that rests on it, has to wait for.
class HeldRegion final : public SharedMemory {
 public:
  HeldRegion() { memory_.add("r", std::string(64, '\1')); }
  Status register_system(std::string_view, std::string_view, uint64_t, uint64_t) noexcept override {
    return {};
  }
  Status register_cuda(std::string_view, std::span<const std::byte>, int64_t, uint64_t) noexcept override {
    return {};
  }
  Status unregister(RegionKind, std::string_view) noexcept override { return {}; }
  Result<std::vector<SharedMemoryRegion>> status(RegionKind, std::string_view) const noexcept override {
    return std::vector<SharedMemoryRegion>();
  }
  Result<RegionLease> acquire(std::string_view region, uint64_t offset, uint64_t size) noexcept override {
    if (holds_reading) wait();
    return memory_.acquire(region, offset, size);
  }
  Status check(const RegionLease& lease) const noexcept override {
    if (holds_answers) wait();
    return memory_.check(lease);
  }
  void release(const RegionLease& lease) noexcept override { memory_.release(lease); }

  std::atomic<bool> holds_reading{false};
  std::atomic<bool> holds_answers{false};
  mutable std::counting_semaphore<> held{0};
  mutable std::counting_semaphore<> resume{0};

 private:
  void wait() const {
    held.release();
    resume.acquire();
  }
  test::FakeSharedMemory memory_;
};

class LargeBodyTest : public HttpFrontendTest {
 protected:
  LargeBodyTest() {
    host_.options().set_int("threads", 1);
    host_.registry().publish<SharedMemory>("shm", region_);
    catalog_.add_identity("m", DataType::kUint8);
    catalog_.add_identity("probe");
  }
  ~LargeBodyTest() override { stop(); }

  static std::string region_input(const std::string& name = "INPUT0") {
    return R"({"name":")" + name +
           R"(","datatype":"UINT8","shape":[4],"parameters":{"shared_memory_region":"r",)"
           R"("shared_memory_byte_size":4}})";
  }
  static std::string large(std::string json) { return json + std::string(kLargeBytes, ' '); }
  static std::string packed(const std::string& text) {
    const iovec part{const_cast<char*>(text.data()), text.size()};
    BodyBuffer to;
    EXPECT_TRUE(compress(Encoding::kGzip, {&part, 1}, &to).ok());
    return std::string(to.text());
  }
  /// What the held work is worth: the only thread answers all others meanwhile.
  void expect_others_are_answered() {
    region_.held.acquire();
    expect_alive();
  }

  HeldRegion region_;
};

TEST_F(LargeBodyTest, IsReadElsewhere) {
  start();
  region_.holds_reading = true;
  const std::string body = large("{\"inputs\":[" + region_input() + "]}");
  for (const auto& [sent, headers] :
       {std::pair<std::string, std::string>{body, ""}, {packed(body), "Content-Encoding: gzip\r\n"}}) {
    HttpClient one = client();
    one.send(request("POST", "/v2/models/m/infer", sent, headers) + request("GET", "/v2/health/live"));
    expect_others_are_answered();
    region_.resume.release();
    EXPECT_EQ(one.receive().body, R"({"model_name":"m","model_version":"1","outputs":[{"name":"OUTPUT0",)"
                                  R"("datatype":"UINT8","shape":[4],"data":[1,1,1,1]}]})");
    EXPECT_EQ(one.receive().status, 200) << "what follows on the connection is answered after it";
  }
}

TEST_F(LargeBodyTest, AClientThatLeavesMeanwhileIsForgotten) {
  test::FakeServedModel& model = catalog_.add_identity("left", DataType::kUint8);
  bool reached = false;
  model.refuse = [&reached](Request&) {
    reached = true;
    return Status();
  };
  start();
  region_.holds_reading = true;
  {
    HttpClient one = client();
    one.send(request("POST", "/v2/models/left/infer", large("{\"inputs\":[" + region_input() + "]}")));
    region_.held.acquire();
    one.reset();
  }
  expect_alive();
  region_.resume.release();
  EXPECT_TRUE(eventually([&] { return model.references() == 0; }));
  EXPECT_FALSE(reached) << "it was not given to the model";
  expect_alive();
}

TEST_F(LargeBodyTest, RefusalsAreThoseOfSmallOnes) {
  start();
  const std::string too_large = packed(std::string((size_t{64} << 20) + 1, ' '));
  expect_error(post("/v2/models/m/infer", too_large, "Content-Encoding: gzip\r\n"), 400,
               "Decompressed data size exceeds the maximum allowed value of 67108864 bytes. Use "
               "--http-max-input-size to increase the limit.");
  expect_error(post("/v2/models/m/infer", large("{")), 400,
               "failed to parse the request JSON buffer: Missing a name for object member. at 1048577");
  expect_error(post("/v2/models/m/infer", large("{}"), "Inference-Header-Content-Length: x\r\n"), 400,
               "Unable to parse Inference-Header-Content-Length, got: x");
  const std::string cut = packed(large("{}")).substr(0, 500);
  expect_error(post("/v2/models/m/infer", cut, "Content-Encoding: gzip\r\n"), 400,
               "cannot decompress the request's body: it is cut off");
  expect_error(post("/v2/models/m/generate", large("{")), 400,
               "failed to parse the request JSON buffer: Missing a name for object member. at 1048577");
  expect_alive();
}

TEST_F(LargeBodyTest, GenerateIsReadElsewhereToo) {
  start();
  const Reply reply = post("/v2/models/probe/generate", large(R"({"INPUT0":[1,2]})"));
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.body, R"({"OUTPUT0":[1.0,2.0],"model_name":"probe","model_version":"1"})");
}

TEST_F(LargeBodyTest, AnAnswerIsWrittenElsewhere) {
  const size_t size = kLargeBytes / 4 + 1;
  catalog_.add_identity("large", DataType::kUint8).respond = [size](Request& request) {
    Response* response = request.sink->new_response();
    const int64_t shape[] = {static_cast<int64_t>(size)};
    OutputTensor& output = response->add_output("OUTPUT0", DataType::kUint8, shape);
    ASSERT_TRUE(response->allocate(output, size).ok());
    std::memset(output.buffer.data, 7, size);
    response->send(kFinal);
    (void)request.release().ok();
  };
  start();
  region_.holds_answers = true;
  HttpClient one = client();
  one.send(request("POST", "/v2/models/large/infer", "{\"inputs\":[" + region_input() + "]}",
                   "Accept-Encoding: gzip\r\n"));
  expect_others_are_answered();
  region_.resume.release();
  const Reply reply = one.receive();
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.header("content-encoding"), "gzip");
  BodyBuffer plain;
  ASSERT_TRUE(decompress({reinterpret_cast<const uint8_t*>(reply.body.data()), reply.body.size()},
                         kLargeBytes, &plain)
                  .ok());
  EXPECT_TRUE(plain.text().ends_with("7,7]}]}"));

  // A client that leaves meanwhile leaves nothing behind.
  HttpClient gone = client();
  gone.send(request("POST", "/v2/models/large/infer", "{\"inputs\":[" + region_input() + "]}"));
  region_.held.acquire();
  gone.reset();
  expect_alive();
  region_.resume.release();
  expect_alive();
}

TEST_F(LargeBodyTest, OtherCallsTakeNoLargeBodies) {
  start();
  const std::string body((size_t{1} << 20) + 1, ' ');
  expect_error(post("/v2/repository/index", body), 400,
               "the body of this call has 1048577 bytes, at most 1048576 are allowed");
  EXPECT_EQ(post("/v2/repository/index", std::string(size_t{1} << 20, ' ')).status, 400) << "it is no JSON";
}

}  // namespace
}  // namespace atl::frontends::http
