/// Models that are run by testing/worker_double_main.cc.
#pragma once

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>

#include "atoll/backend/backend.h"
#include "atoll/testing/fake_host.h"
#include "atoll/testing/temporary_directory.h"
#include "backends/python/python_backend.h"
#include "model_config.pb.h"

namespace atl::python {

/// A model's folder, whose file says how the double behaves.
class DoubleModel {
 public:
  explicit DoubleModel(const std::string& mode, DataType type = DataType::kFp32, uint32_t max_batch_size = 0,
                       bool decoupled = false) {
    source.name = "double";
    source.version = 1;
    source.model_directory = folder_.path();
    source.version_directory = source.model_directory + "/1";
    std::filesystem::create_directory(source.version_directory);
    std::ofstream(source.version_directory + "/model.py") << mode << "\n";
    source.model.name = source.name;
    source.model.max_batch_size = max_batch_size;
    source.model.decoupled = decoupled;
    TensorSpec tensor;
    tensor.name = "INPUT0";
    tensor.datatype = type;
    tensor.dims = {-1};
    source.model.inputs = {tensor};
    tensor.name = "OUTPUT0";
    source.model.outputs = {tensor};
    inference::ModelConfig config;
    config.set_name(source.name);
    config.set_backend("python");
    source.config = config.SerializeAsString();
  }
  ModelSource source;

 private:
  const test::TemporaryDirectory folder_;
};

inline PythonSettings double_settings() {
  PythonSettings settings;
  settings.interpreter = ATOLL_WORKER_DOUBLE;
  settings.start_timeout_ns = 20'000'000'000;
  return settings;
}

/// A backend that has begun, and ends with its last user.
inline std::shared_ptr<Backend> double_backend(Host& host, PythonSettings settings = double_settings()) {
  std::shared_ptr<PythonBackend> backend(new PythonBackend(host, std::move(settings), "/nowhere"),
                                         [](PythonBackend* old) {
                                           old->stop();
                                           delete old;
                                         });
  (void)backend->start().ok();
  return backend;
}

}  // namespace atl::python
