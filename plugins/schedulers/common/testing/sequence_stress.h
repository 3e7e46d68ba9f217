/// Schedulers of sequences under real threads.
#pragma once

#include <string_view>

#include "schedulers/common/sequence/sequence_provider.h"
#include "schedulers/common/testing/config_bytes.h"
#include "schedulers/common/testing/scheduler_stress.h"

namespace atl::schedulers {

inline SequenceProviderSettings stress_settings(test::ThreadExecutors& threads, StateMemory& memory,
                                                uint64_t seed) {
  SequenceProviderSettings settings;
  settings.dispatcher.light_execution_ns = seed % 3 == 0 ? 0 : (seed % 3 == 1 ? 100 * kNsPerUs : INT64_MAX);
  settings.clock = &threads.clock();
  settings.state_memory = &memory;
  return settings;
}

inline std::string stress_config(std::string_view strategy) {
  return config_bytes(cat("max_batch_size: 4 sequence_batching { ", strategy,
                          " state { input_name: 'IN' output_name: 'OUT' data_type: TYPE_FP32 dims: 3 } }"));
}

/// Few ids, so that requests of several threads meet in one sequence, and more than there are slots.
template <class Provider>
void stress_sequences(std::string_view strategy) {
  test::ThreadExecutors threads;
  StateMemory memory;
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(cat("seed ", seed));
    Provider provider(stress_settings(threads, memory, seed));
    StressBench bench(threads, provider, stress_config(strategy), 4);
    enqueue_cancel_and_stop(seed, bench, [](Request& request, size_t i) {
      request.sequence.number = 1 + i % 13;
      request.sequence_flags = kSequenceStart | (i % 3 == 0 ? kSequenceEnd : 0u);
      request.batch_size = 1;
    });
    if (::testing::Test::HasFailure()) return;
  }
}

template <class Provider>
void destroy_sequence_schedulers(std::string_view strategy) {
  test::ThreadExecutors threads;
  StateMemory memory;
  for (uint64_t round = 0; round < 100; ++round) {
    Provider provider(stress_settings(threads, memory, round));
    StressBench bench(threads, provider, stress_config(strategy), 4);
    destroy_as_soon_as_nothing_is_in_flight(bench, [](Request& request) {
      request.sequence.number = 1;
      request.sequence_flags = kSequenceStart | kSequenceEnd;
    });
  }
}

}  // namespace atl::schedulers
