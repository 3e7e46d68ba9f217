#include "atoll/testing/conformance/grpc_calls.h"
#include "atoll/testing/plugin_runner.h"

namespace atl::test {
namespace {

class Bench final : public GrpcCallsUnderTest {
 public:
  Bench() {
    plugin_.set("slow", "1ms");
    EXPECT_TRUE(is_ok(plugin_.create_and_start()));
  }
  virtual ~Bench() = default;
  GrpcCalls& calls() override { return *plugin_.query<GrpcCalls>(); }
  void drain() override { plugin_.drain(host_.clock().now_ns() + kNsPerSecond); }

 private:
  FakeHost host_{"calls", FakeHost::Threads::kReal};
  PluginRunner plugin_{host_};
};

std::vector<GrpcCallsCase> cases() {
  return {{"/fixture.Calls/Hello"},
          {"/fixture.Calls/Echo", {std::string(100'000, 'x'), {{"prefix", "p"}}}},
          {"/fixture.Calls/Later"},
          {"/fixture.Calls/Slow"},
          {"/fixture.Calls/Held", {}, Code::kOk, /*lasts=*/true},
          {"/fixture.Calls/Stream", {"5"}},
          {"/fixture.Calls/Stream", {"-5"}, Code::kAborted},
          {"/fixture.Calls/Flood", {}, Code::kOk, /*lasts=*/true},
          {"/fixture.Calls/Closed"}};
}

std::shared_ptr<GrpcCallsUnderTest> make() { return std::make_shared<Bench>(); }
INSTANTIATE_TEST_SUITE_P(Fixture, GrpcCallsConformance,
                         ::testing::Values(GrpcCallsProvider{"fixture", make, cases(), {}}));

}  // namespace
}  // namespace atl::test
