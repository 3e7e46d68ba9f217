/// schedulers/sequence_direct under real threads.
#include "schedulers/common/testing/sequence_stress.h"
#include "schedulers/sequence_direct/direct_provider.h"

namespace atl::schedulers {
namespace {

TEST(DirectStress, ThreadsEnqueueCancelAndStop) { stress_sequences<DirectProvider>("direct { }"); }

TEST(DirectStress, DestroyedAsSoonAsNothingIsInFlight) {
  destroy_sequence_schedulers<DirectProvider>("direct { }");
}

}  // namespace
}  // namespace atl::schedulers
