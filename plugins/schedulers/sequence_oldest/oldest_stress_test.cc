/// schedulers/sequence_oldest under real threads.
#include "schedulers/common/testing/sequence_stress.h"
#include "schedulers/sequence_oldest/oldest_provider.h"

namespace atl::schedulers {
namespace {

TEST(OldestStress, ThreadsEnqueueCancelAndStop) { stress_sequences<OldestProvider>("oldest { }"); }

TEST(OldestStress, DestroyedAsSoonAsNothingIsInFlight) {
  destroy_sequence_schedulers<OldestProvider>("oldest { }");
}

}  // namespace
}  // namespace atl::schedulers
