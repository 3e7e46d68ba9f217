#include "atoll/testing/conformance/launcher.h"
#include "pools/leases/testing/fake_servers.h"

namespace atl::test {
namespace {

/// The launcher that the other tests of this folder trust.
class FakeEngine final : public LauncherUnderTest {
 public:
  Launcher& launcher() override { return servers_; }
  ServerSpec server() override { return {}; }
  bool wait(const std::function<bool()>& is_true) override {
    const int64_t end_ns = clock_.now_ns() + 60 * kNsPerSecond;
    while (!is_true()) {
      if (clock_.now_ns() > end_ns || !executors_.step()) return false;
    }
    return true;
  }

 private:
  FakeClock clock_;
  DeterministicExecutors executors_{clock_, 1};
  pools::FakeServers servers_{executors_};
};

INSTANTIATE_TEST_SUITE_P(FakeServers, LauncherConformance,
                         ::testing::Values(LauncherProvider{
                             "fake servers", [] { return std::make_shared<FakeEngine>(); }, {}}));

}  // namespace
}  // namespace atl::test
