/// A graph and the session that runs it.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "atoll/core/status.h"
#include "backends/tensorflow/graph/tf_signature.h"
#include "backends/tensorflow/library/tf_status.h"

namespace atl::tensorflow {

/// Runs may be made on any number of threads at once. The session keeps variables between runs, and nothing else.
class TfSession {
 public:
  /// \param folder  that has saved_model.pb; variables are read from it
  /// \param tags    all of the graph's  \param config  TfSettings::config_bytes()
  /// Errors: those of TensorFlow.
  static Result<std::unique_ptr<TfSession>> load_saved_model(const std::string& folder,
                                                             const std::vector<std::string>& tags,
                                                             const std::string& config) noexcept;
  /// \param file  a GraphDef. Errors: INTERNAL it cannot be read; those of TensorFlow.
  static Result<std::unique_ptr<TfSession>> import_graph(const std::string& file,
                                                         const std::string& config) noexcept;

  /// Where a tensor of the signature is. Errors: INVALID_ARGUMENT there is no such operation, or it has no such output.
  Result<TF_Output> find(const TfTensorInfo& tensor) const noexcept;
  /// Of a placeholder with a default, which need not be fed.
  bool has_default(const TF_Output& output) const noexcept;
  bool is_placeholder(const TF_Output& output) const noexcept;
  /// Fills in type and shape of a tensor that has a name only. Errors: as find().
  Status describe(TfTensorInfo& tensor) const noexcept;

  /// Runs operations for what they do. Errors: INVALID_ARGUMENT there is none of that name; those of TensorFlow.
  Status run_operations(std::span<const std::string> names) noexcept;

  TF_Session* get() const noexcept { return session_.get(); }

 private:
  TfSession() : graph_(tf().TF_NewGraph()) {}

  TfHandle<TF_Graph> graph_;
  TfHandle<TF_Session> session_;
};

}  // namespace atl::tensorflow
