/// The dynamic scheduler under real threads, with every kind of timer and order at work.
#include "atoll/testing/fake_log.h"
#include "schedulers/common/testing/config_bytes.h"
#include "schedulers/common/testing/scheduler_stress.h"
#include "schedulers/dynamic/dynamic_provider.h"

namespace atl::schedulers {
namespace {

constexpr const char* kConfigs[] = {
    "max_batch_size: 8 dynamic_batching { preferred_batch_size: [ 2, 4 ] max_queue_delay_microseconds: 50 }",
    "max_batch_size: 4 dynamic_batching { preserve_ordering: true max_queue_delay_microseconds: 20 }",
    "max_batch_size: 8 dynamic_batching { priority_levels: 3 default_priority_level: 2 default_queue_policy "
    "{ default_timeout_microseconds: 200 } priority_queue_policy { key: 3 value { timeout_action: DELAY "
    "default_timeout_microseconds: 50 max_queue_size: 20 } } }",
    "max_batch_size: 8 dynamic_batching { } parameters { key: 'latency_target_microseconds' value { "
    "string_value: '500' } }",
};

TEST(DynamicStress, ThreadsEnqueueCancelAndStop) {
  test::ThreadExecutors threads;
  test::RecordingLog log;
  for (uint64_t seed = 1; seed <= 24; ++seed) {
    SCOPED_TRACE(cat("seed ", seed));
    DynamicSettings settings;
    settings.dispatcher.light_execution_ns = seed % 3 == 0 ? 0 : (seed % 3 == 1 ? 100 * kNsPerUs : INT64_MAX);
    DynamicProvider provider(settings, log);
    std::string config = config_bytes(kConfigs[seed % std::size(kConfigs)]);
    StressBench bench(threads, provider, config, 8);
    enqueue_cancel_and_stop(seed, bench, [](Request& request, size_t i) {
      request.batch_size = 1 + i % 2;
      request.priority = i % 4;
    });
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(DynamicStress, DestroyedAsSoonAsNothingIsInFlight) {
  test::ThreadExecutors threads;
  test::RecordingLog log;
  DynamicProvider provider(DynamicSettings{}, log);
  for (uint64_t round = 0; round < 200; ++round) {
    // With the delay a timer is armed when the scheduler goes.
    std::string config = config_bytes(kConfigs[round % 2]);
    StressBench bench(threads, provider, config, 8);
    destroy_as_soon_as_nothing_is_in_flight(bench);
  }
}

}  // namespace
}  // namespace atl::schedulers
