/// One model version as a foreign backend knows it.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "atoll/backend/backend.h"
#include "atoll/triton/model.h"
#include "backends/triton/foreign_backend.h"
#include "model_config.pb.h"

namespace atl::triton {

/// From ModelInitialize to ModelFinalize. [worker]
class ForeignModel final : public std::enable_shared_from_this<ForeignModel>, private ModelHost {
 public:
  ForeignModel(std::shared_ptr<ForeignBackend> backend, const ModelSource& source);
  ForeignModel(const ForeignModel&) = delete;
  ForeignModel& operator=(const ForeignModel&) = delete;
  ~ForeignModel();

  /// Calls ModelInitialize, which may complete the configuration. Once.
  /// Errors: its own; INTERNAL it threw, or `config` is none; LoadCalls::run(), and then nothing follows.
  Status initialize(const std::string& config);
  /// As it is now, serialized.
  std::string config() const { return config_.SerializeAsString(); }
  /// What is shown from here on. Errors: INTERNAL it is none.
  Status set_final_config(const std::string& config);

  ForeignBackend& backend() const noexcept { return *backend_; }
  TRITONBACKEND_Model& handle() noexcept { return handle_; }
  /// Whether its instances on one GPU may not execute at the same time.
  bool is_serial_per_device() const noexcept;
  /// To be held while an instance on that GPU executes, if they take turns.
  std::mutex& turn_on(int32_t gpu);
  /// What was reported so far is part of memory_usage().
  void note_memory(const std::vector<MemoryUsage>& of_instance);
  std::vector<MemoryUsage> memory_usage() const;

 private:
  Status call_initialize();
  Status set_config(std::string_view json) noexcept override;
  Status show(const inference::ModelConfig& config);

  std::shared_ptr<ForeignBackend> backend_;
  TRITONBACKEND_Model handle_;
  inference::ModelConfig config_;
  bool initialized_ = false;
  mutable std::mutex mutex_;
  std::vector<MemoryUsage> memory_usage_;
  std::map<int32_t, std::mutex> turns_;
};

}  // namespace atl::triton
