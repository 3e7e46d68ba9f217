#include "schedulers/common/testing/sequence_simulation.h"
#include "schedulers/sequence_oldest/oldest_provider.h"

namespace atl::schedulers {
namespace {

TEST(OldestSimulation, EveryStepIsAnsweredFromTheStateOfItsSequence) {
  simulate_sequences<OldestProvider>({"oldest { }", "oldest { max_candidate_sequences: 5 }",
                                      "oldest { max_queue_delay_microseconds: 200 preserve_ordering: true }"},
                                     false);
}

}  // namespace
}  // namespace atl::schedulers
