#include "backends/openvino/sequence_runs.h"

#include <algorithm>
#include <utility>

#include "atoll/core/text.h"
#include "atoll/request/owner.h"

namespace atl::openvino {
namespace {

/// The number 7 and the text "7" are different sequences, and so are those of two owners.
std::string key_of(const Request& request) {
  const SequenceId& sequence = request.sequence;
  if (sequence.empty()) return {};
  const std::string_view owner = owner_of(request);
  const std::string id = sequence.text.empty() ? cat("n", sequence.number) : cat("t", sequence.text);
  return cat(owner.size(), ':', owner, id);
}

}  // namespace

std::list<SequenceRuns::Entry>::iterator SequenceRuns::find(const Request& request) noexcept {
  return std::ranges::find(runs_, key_of(request), &Entry::sequence);
}

Result<OvRun*> SequenceRuns::begin(const Request& request, const OvCompiled& compiled,
                                   const OvModelPlan& plan) noexcept {
  const auto found = find(request);
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
  runs_.push_front({key_of(request), std::move(run).value()});
  return runs_.front().run.get();
}

void SequenceRuns::end(const Request& request, bool has_failed) noexcept {
  const bool is_last = request.sequence.empty() || (request.sequence_flags & kSequenceEnd) != 0;
  if (!is_last && !has_failed) return;
  const auto found = find(request);
  if (found != runs_.end()) runs_.erase(found);
}

}  // namespace atl::openvino
