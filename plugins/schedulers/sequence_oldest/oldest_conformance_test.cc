#include "schedulers/common/testing/sequence_conformance.h"
#include "schedulers/sequence_oldest/oldest_provider.h"

namespace atl::test {
namespace {

using schedulers::OldestProvider;

constexpr std::string_view kDelayed =
    "oldest { max_candidate_sequences: 6 preferred_batch_size: [ 2, 4 ] max_queue_delay_microseconds: 700 }";
constexpr std::string_view kOrdered = "oldest { max_queue_delay_microseconds: 100 preserve_ordering: true }";

INSTANTIATE_TEST_SUITE_P(
    Oldest, SchedulerConformance,
    ::testing::Values(sequence_provider<OldestProvider>("plain", "oldest { }", 100 * kNsPerUs),
                      sequence_provider<OldestProvider>("never_inline", "oldest { }", 0),
                      sequence_provider<OldestProvider>("always_inline", "oldest { }", INT64_MAX),
                      sequence_provider<OldestProvider>("without_batches", "oldest { }", 100 * kNsPerUs, 0),
                      sequence_provider<OldestProvider>("delayed", kDelayed, 100 * kNsPerUs),
                      sequence_provider<OldestProvider>("ordered", kOrdered, 100 * kNsPerUs)),
    [](const auto& param) { return param.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Oldest, MetricSourceConformance,
    ::testing::Values(MetricSourceProvider{
        "oldest", [] { return std::make_shared<SequenceModels<OldestProvider>>(); }, {}}));

}  // namespace
}  // namespace atl::test
