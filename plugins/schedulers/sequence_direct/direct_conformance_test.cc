#include "schedulers/common/testing/sequence_conformance.h"
#include "schedulers/sequence_direct/direct_provider.h"

namespace atl::test {
namespace {

using schedulers::DirectProvider;

constexpr std::string_view kControls =
    "control_input { name: 'START' control { kind: CONTROL_SEQUENCE_START int32_false_true: [ 0, 1 ] } } "
    "control_input { name: 'READY' control { kind: CONTROL_SEQUENCE_READY int32_false_true: [ 0, 1 ] } }";

INSTANTIATE_TEST_SUITE_P(
    Direct, SchedulerConformance,
    ::testing::Values(sequence_provider<DirectProvider>("plain", "direct { }", 100 * kNsPerUs),
                      sequence_provider<DirectProvider>("never_inline", "direct { }", 0),
                      sequence_provider<DirectProvider>("always_inline", "direct { }", INT64_MAX),
                      sequence_provider<DirectProvider>("without_batches", "direct { }", 100 * kNsPerUs, 0),
                      sequence_provider<DirectProvider>(
                          "delayed",
                          "direct { max_queue_delay_microseconds: 700 minimum_slot_utilization: 0.6 }", 0),
                      sequence_provider<DirectProvider>("controls", kControls, 100 * kNsPerUs)),
    [](const auto& param) { return param.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Direct, MetricSourceConformance,
    ::testing::Values(MetricSourceProvider{
        "direct", [] { return std::make_shared<SequenceModels<DirectProvider>>(); }, {}}));

}  // namespace
}  // namespace atl::test
