/// Model control of kind "explicit": clients load and unload.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/gate.h"
#include "atoll/models/model.h"
#include "atoll/models/model_control.h"

namespace atl::control {

struct ExplicitOptions {
  std::vector<std::string> load_model = {};  ///< at start; "*" alone: all
  bool allow_file_override = true;
  uint64_t max_override_bytes = uint64_t{1} << 30;  ///< of all loads in hand together
};

/// Names that can be loaded at start. Errors: INVALID_ARGUMENT "Wildcard model name '*' must be the ONLY
/// startup model if specified at all.", or a name that cannot be a model's.
Status check_startup_models(const std::vector<std::string>& names);

/// Keeps nothing of the models: the catalog knows them, and changes one at a time. [any]
class ExplicitControl final : public ModelControl {
 public:
  ExplicitControl(const ExplicitOptions& options, Gate& gate) : gate_(gate) { follow(options); }
  virtual ~ExplicitControl() = default;

  /// Loads that come from now on have these limits.
  void follow(const ExplicitOptions& options) noexcept {
    allow_file_override_.store(options.allow_file_override, std::memory_order_relaxed);
    max_override_bytes_.store(options.max_override_bytes, std::memory_order_relaxed);
  }
  /// Before the first call; outlives the last one's answer.
  void use(ModelCatalog* catalog) noexcept { catalog_ = catalog; }

  std::string_view mode() const noexcept override { return "explicit"; }
  void load(std::string model, std::vector<ModelControlParameter> parameters, Done done) noexcept override;
  void unload(std::string model, std::vector<ModelControlParameter> parameters, Done done) noexcept override;

 private:
  struct InHand;
  Status check_server() const;
  Status check_size(const ModelLoadRequest& request, InHand* in_hand);

  std::atomic<bool> allow_file_override_{true};
  std::atomic<uint64_t> max_override_bytes_{0};
  Gate& gate_;
  ModelCatalog* catalog_ = nullptr;
  std::atomic<uint64_t> override_bytes_{0};
};

}  // namespace atl::control
