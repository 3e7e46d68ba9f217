/// Outputs of a model that nobody gets.
#pragma once

#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/backend/backend.h"
#include "atoll/core/log.h"
#include "backends/python/memory/payload.h"
#include "backends/python/memory/protocol.h"

namespace atl::python {

/// Tells in the log, once for each name of a model version, of outputs that the configuration does not have; clients do not get them, as
/// with Triton, which says nothing. What else is wrong with outputs is told by those who serve the model. [any]
class UnknownOutputs {
 public:
  /// \param log  outlives it
  UnknownOutputs(const ModelSource& source, Log& log);
  UnknownOutputs(const UnknownOutputs&) = delete;
  UnknownOutputs& operator=(const UnknownOutputs&) = delete;

  /// A response that was made of the record.
  void look(const Response& response, const ResponseRecord& record, const PayloadView& payload) noexcept {
    // Something was left out: what the client did not ask for, or what nobody can ask for.
    if (response.outputs.size() != record.tensor_count) look_at_names(record, payload);
  }

 private:
  /// Most unknown names that are told: a model may make them up.
  static constexpr size_t kNamesMax = 16;

  bool knows(std::string_view name, size_t guess) const noexcept;
  void look_at_names(const ResponseRecord& record, const PayloadView& payload) noexcept;
  void report_name(const std::string& name);

  Log& log_;
  const std::string model_;  ///< as the log has it
  std::vector<std::string> names_;
  std::mutex mutex_;
  std::set<std::string> told_;  ///< unknown names
};

}  // namespace atl::python
