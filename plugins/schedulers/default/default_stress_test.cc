/// The default scheduler under real threads.
#include "schedulers/common/testing/scheduler_stress.h"
#include "schedulers/default/default_provider.h"

namespace atl::schedulers {
namespace {

TEST(DefaultStress, ThreadsEnqueueCancelAndStop) {
  test::ThreadExecutors threads;
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(cat("seed ", seed));
    DefaultSettings settings;
    settings.dispatcher.light_execution_ns = seed % 3 == 0 ? 0 : (seed % 3 == 1 ? 100 * kNsPerUs : INT64_MAX);
    DefaultProvider provider(settings);
    StressBench bench(threads, provider);
    enqueue_cancel_and_stop(seed, bench);
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(DefaultStress, ThreadsEnqueueCancelAndStopWhileInstancesWaitForAdmission) {
  test::ThreadExecutors threads;
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(cat("seed ", seed));
    DefaultSettings settings;
    settings.dispatcher.light_execution_ns = seed % 3 == 0 ? 0 : (seed % 3 == 1 ? 100 * kNsPerUs : INT64_MAX);
    DefaultProvider provider(settings);
    test::FakeAdmission admission;
    StressBench bench(threads, provider, {}, 0, &admission);
    RestlessDoors doors(admission, seed);
    enqueue_cancel_and_stop(seed, bench);
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(DefaultStress, DestroyedWhileAnInstanceIsBeingAdmitted) {
  test::ThreadExecutors threads;
  DefaultProvider provider(DefaultSettings{});
  for (uint64_t round = 0; round < 100; ++round) {
    test::FakeAdmission admission;
    StressBench bench(threads, provider, {}, 0, &admission);
    RestlessDoors doors(admission, round);
    destroy_as_soon_as_nothing_is_in_flight(bench);
  }
}

TEST(DefaultStress, DestroyedAsSoonAsNothingIsInFlight) {
  test::ThreadExecutors threads;
  DefaultProvider provider(DefaultSettings{});
  for (int round = 0; round < 100; ++round) {
    StressBench bench(threads, provider);
    destroy_as_soon_as_nothing_is_in_flight(bench);
  }
}

}  // namespace
}  // namespace atl::schedulers
