/// What the double of TensorFlow's C calls has behind its handles: tensors, and graphs of a few operations (Placeholder,
/// PlaceholderWithDefault, Identity, AddV2, Const, VariableV2, Assign). Only for the double.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backends/tensorflow/library/tf_api.h"

namespace atl::tensorflow {

struct TF_Status {
  int code = 0;
  std::string message;

  void set(int new_code, std::string text) {
    code = new_code;
    message = std::move(text);
  }
};

struct TF_Tensor {
  TfType type = 0;
  std::vector<int64_t> dims;
  std::shared_ptr<void> data;
  size_t bytes = 0;
};

struct TF_Operation {
  std::string name, type;
  std::vector<std::string> inputs;
  TfType dtype = 0;
  bool unknown_rank = true;
  std::vector<int64_t> dims;
  std::unique_ptr<TF_Tensor> value;  ///< of a Const
};

struct TF_Graph {
  std::map<std::string, TF_Operation> operations;

  bool parse(std::string_view graph_def);
};

struct TF_Session {
  TF_Graph* graph = nullptr;
  std::map<std::string, TF_Tensor> variables;
};

/// What one run feeds, and what it computes.
class DoubleRun {
 public:
  DoubleRun(TF_Session& session, TF_Status& status) : session_(session), status_(status) {}
  void feed(const TF_Output& output, const TF_Tensor& tensor) { fed_[output.oper->name] = tensor; }
  /// \returns null: status says why
  std::unique_ptr<TF_Tensor> compute(const std::string& operation);

 private:
  std::unique_ptr<TF_Tensor> add(const TF_Operation& operation);
  std::unique_ptr<TF_Tensor> assign(const TF_Operation& operation);
  std::unique_ptr<TF_Tensor> fail(int code, std::string text) {
    status_.set(code, std::move(text));
    return nullptr;
  }

  TF_Session& session_;
  TF_Status& status_;
  std::map<std::string, TF_Tensor> fed_;
};

}  // namespace atl::tensorflow
