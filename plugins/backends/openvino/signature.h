/// What a model takes and gives, as OpenVINO says it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/status.h"
#include "atoll/request/tensor.h"
#include "backends/openvino/library/ov_api.h"

namespace atl::openvino {

/// An input or an output.
struct OvPortInfo {
  std::string name;  ///< empty: it has none
  std::string port;  ///< the name by which OpenVINO finds it: "x:0" of a TensorFlow graph whose users say "x"
  DataType datatype = DataType::kInvalid;
  OvElementType element_type = 0;
  bool has_rank = true;       ///< false: the model does not say how many dimensions there are
  std::vector<int64_t> dims;  ///< -1: variable
  int64_t first_max = -1;     ///< most rows that a variable first dimension may have; -1: any

  std::string type_text() const;
  bool is_variable() const noexcept;
};

struct OvSignature {
  std::vector<OvPortInfo> inputs, outputs;  ///< in the model's order
};

/// Errors: INTERNAL those of the library.
Result<OvSignature> read_signature(const OvModel& model) noexcept;

/// The input or output that has this name, or "NAME:0", among its names: a port can have several, and a folded one has that of
/// another.
/// \returns an error if there is none
Result<OvPortInfo> find_input(const OvModel& model, const std::string& name) noexcept;
Result<OvPortInfo> find_output(const OvModel& model, const std::string& name) noexcept;

/// For messages: "INPUT0, INPUT1".
std::string names_of(const std::vector<OvPortInfo>& ports);

}  // namespace atl::openvino
