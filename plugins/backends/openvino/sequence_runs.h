/// The infer requests of a model with state of its own: OpenVINO keeps that in the infer request, and its C API cannot reset it.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string>

#include "atoll/request/request.h"
#include "backends/openvino/ov_run.h"

namespace atl::openvino {

/// One infer request for each sequence, from its first request to its last; a request without a sequence has one for itself. So nobody
/// sees the state of somebody else. Not thread safe.
class SequenceRuns {
 public:
  /// Sequences beyond are ended, the one that was idle for longest first: who leaves without ending a sequence leaves its run.
  static constexpr size_t kSequencesMax = 256;

  /// The run for the request; valid until end().
  /// Errors: INVALID_ARGUMENT a request that does not start its sequence, of which there is no run; INTERNAL the library's.
  Result<OvRun*> begin(const Request& request, const OvCompiled& compiled, const OvModelPlan& plan) noexcept;
  /// After the request was answered: ends the sequence, if the request does, or if it has failed.
  void end(const Request& request, bool has_failed) noexcept;
  size_t size() const noexcept { return runs_.size(); }

 private:
  struct Entry {
    std::string sequence;
    std::unique_ptr<OvRun> run;
  };
  std::list<Entry>::iterator find(const Request& request) noexcept;

  std::list<Entry> runs_;  ///< the last one used is the first
};

}  // namespace atl::openvino
