#include "backends/openvino/sequence_runs.h"

#include <algorithm>
#include <utility>

#include "atoll/core/text.h"

namespace atl::openvino {
namespace {

/// The number 7 and the text "7" are different sequences.
std::string key_of(const SequenceId& sequence) {
  if (sequence.empty()) return {};
  return sequence.text.empty() ? cat("n", sequence.number) : cat("t", sequence.text);
}

}  // namespace

std::list<SequenceRuns::Entry>::iterator SequenceRuns::find(const SequenceId& sequence) noexcept {
  return std::ranges::find(runs_, key_of(sequence), &Entry::sequence);
}

Result<OvRun*> SequenceRuns::begin(const Request& request, const OvCompiled& compiled,
                                   const OvModelPlan& plan) noexcept {
  const auto found = find(request.sequence);
  const bool is_fresh = request.sequence.empty() || (request.sequence_flags & kSequenceStart) != 0;
  if (!is_fresh) {
    if (found == runs_.end())
      return invalid_argument("the sequence has no state here: it was not started, or was idle for long");
    runs_.splice(runs_.begin(), runs_, found);
    return runs_.front().run.get();
  }
  if (found != runs_.end()) runs_.erase(found);
  auto run = OvRun::make(compiled.current(), plan);
  if (!run.ok()) return std::move(run).status();
  if (runs_.size() >= kSequencesMax) runs_.pop_back();
  runs_.push_front({key_of(request.sequence), std::move(run).value()});
  return runs_.front().run.get();
}

void SequenceRuns::end(const Request& request, bool has_failed) noexcept {
  const bool is_last = request.sequence.empty() || (request.sequence_flags & kSequenceEnd) != 0;
  if (!is_last && !has_failed) return;
  const auto found = find(request.sequence);
  if (found != runs_.end()) runs_.erase(found);
}

}  // namespace atl::openvino
