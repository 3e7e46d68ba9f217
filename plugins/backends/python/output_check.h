/// What a model answers otherwise than its configuration says.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "atoll/backend.h"
#include "atoll/log.h"
#include "backends/python/payload.h"
#include "backends/python/protocol.h"

namespace atl::python {

/// Tells it in the log, once for each output of a model version and kind of difference. Clients get such answers as they are, and do not get
/// outputs that the configuration does not have, as with Triton, which says nothing of either. [any]
class OutputCheck {
 public:
  /// \param log  outlives it
  OutputCheck(const ModelSource& source, Log& log);
  OutputCheck(const OutputCheck&) = delete;
  OutputCheck& operator=(const OutputCheck&) = delete;

  /// A response that was made of the record.
  void look(const Response& response, const ResponseRecord& record, const PayloadView& payload) noexcept {
    for (uint32_t i = 0; i < response.outputs.size(); ++i) {
      if (Expected* expected = find(response.outputs[i].name, i); expected != nullptr)
        compare(response.outputs[i], *expected);
    }
    // Something was left out: what the client did not ask for, or what nobody can ask for.
    if (response.outputs.size() != record.tensor_count) look_at_names(record, payload);
  }

 private:
  struct Expected {
    std::string name;
    DataType datatype = DataType::kInvalid;
    std::vector<int64_t> shape;  ///< with the batch dimension; -1: variable
    std::atomic<bool> is_datatype_told{false}, is_shape_told{false};
  };
  /// Most unknown names that are told: a model may make them up.
  static constexpr size_t kNamesMax = 16;

  Expected* find(std::string_view name, size_t guess) noexcept;
  void compare(const OutputTensor& output, Expected& expected) noexcept;
  void look_at_names(const ResponseRecord& record, const PayloadView& payload) noexcept;
  void tell_name(const std::string& name);

  Log& log_;
  const std::string model_;  ///< as the log has it
  std::deque<Expected> expected_;
  std::mutex mutex_;
  std::set<std::string> told_;  ///< unknown names
};

}  // namespace atl::python
