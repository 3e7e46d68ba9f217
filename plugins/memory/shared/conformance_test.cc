#include "atoll/testing/conformance/metric_source.h"
#include "atoll/testing/conformance/shared_memory.h"
#include "atoll/testing/fake_clock.h"
#include "memory/shared/bus_error_guard.h"
#include "memory/shared/regions.h"

namespace atl::test {
namespace {

/// Regions with what they need.
struct GuardedRegions final : MetricSourceUnderTest {
  explicit GuardedRegions(bool clients_may = true) : regions(settings(clients_may), clock) {
    EXPECT_TRUE(is_ok(memory::BusErrorGuard::install()));
  }
  virtual ~GuardedRegions() {
    regions.unregister_all();
    memory::BusErrorGuard::uninstall();
  }
  static memory::RegionSettings settings(bool clients_may) {
    memory::RegionSettings settings;
    settings.allow_client_shm = clients_may;
    return settings;
  }
  MetricSource& source() override { return regions; }
  void use() override { EXPECT_TRUE(is_ok(regions.register_system(cat("r", ++used), object.key(), 0, 8))); }

  FakeClock clock;
  TestObject object{8};
  memory::Regions regions;
  int used = 0;
};

std::shared_ptr<SharedMemory> make(bool clients_may) {
  auto made = std::make_shared<GuardedRegions>(clients_may);
  return {made, &made->regions};
}

INSTANTIATE_TEST_SUITE_P(Regions, SharedMemoryConformance,
                         ::testing::Values(SharedMemoryProvider{"regions", make, {}}));
INSTANTIATE_TEST_SUITE_P(Regions, MetricSourceConformance,
                         ::testing::Values(MetricSourceProvider{
                             "regions", [] { return std::make_shared<GuardedRegions>(); }, {}}));

}  // namespace
}  // namespace atl::test
