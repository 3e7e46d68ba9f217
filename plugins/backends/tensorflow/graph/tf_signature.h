/// What a model takes and gives.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/text.h"
#include "backends/tensorflow/graph/tf_datatypes.h"

namespace atl::tensorflow {

struct TfTensorInfo {
  std::string name;       ///< as clients know it
  std::string operation;  ///< in the graph
  int index = 0;          ///< of the operation's outputs
  TfType type = 0;
  bool unknown_rank = false;
  std::vector<int64_t> dims;  ///< -1: variable

  DataType datatype() const noexcept { return from_tensorflow(type); }
  /// For messages: "FP32", "TensorFlow's type 8".
  std::string type_text() const {
    return datatype() == DataType::kInvalid ? cat("TensorFlow's type ", type)
                                            : std::string(data_type_name(datatype()));
  }
  bool is_scalar() const noexcept { return !unknown_rank && dims.empty(); }
};

struct TfSignature {
  std::string name;
  std::vector<TfTensorInfo> inputs, outputs;  ///< by name

  static const TfTensorInfo* find(const std::vector<TfTensorInfo>& tensors, std::string_view name) noexcept {
    const auto found = std::ranges::find(tensors, name, &TfTensorInfo::name);
    return found == tensors.end() ? nullptr : &*found;
  }
};

/// For messages: "a, b".
template <class Named>
std::string names_of(const std::vector<Named>& all) {
  std::string names;
  for (const Named& one : all) names += cat(names.empty() ? "" : ", ", one.name);
  return names.empty() ? "none" : names;
}

/// "x:1" as operation and index; a name without an index means output 0.
void split_tensor_name(std::string_view text, TfTensorInfo& tensor);

}  // namespace atl::tensorflow
