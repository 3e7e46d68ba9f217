#include "schedulers/common/testing/sequence_simulation.h"
#include "schedulers/sequence_direct/direct_provider.h"

namespace atl::schedulers {
namespace {

TEST(DirectSimulation, EveryStepIsAnsweredFromTheStateOfItsSequence) {
  simulate_sequences<DirectProvider>(
      {"direct { }", "direct { max_queue_delay_microseconds: 200 minimum_slot_utilization: 0.7 }"}, true);
}

}  // namespace
}  // namespace atl::schedulers
