#include "backends/identity/identity_backend.h"

#include <utility>

#include "backends/identity/identity_config.h"
#include "backends/identity/identity_instance.h"

namespace atl::identity {
namespace {

class IdentityModel final : public BackendModel {
 public:
  IdentityModel(const IdentityConfig& config, const Clock& clock) noexcept : config_(config), clock_(clock) {}

  Result<std::unique_ptr<BackendInstance>> create_instance(const InstanceSpec& spec) noexcept override {
    if (spec.kind == InstanceKind::kGpu) {
      return invalid_argument("instance '", spec.name,
                              "' is of kind GPU; the identity backend serves KIND_CPU and KIND_MODEL");
    }
    return std::unique_ptr<BackendInstance>(
        std::make_unique<IdentityInstance>(config_, clock_, spec.reporter));
  }

 private:
  IdentityConfig config_;
  const Clock& clock_;
};

}  // namespace

BackendTraits IdentityBackend::traits() const noexcept {
  return {.preferred_groups = {{.kind = InstanceKind::kCpu, .count = 0, .gpus = {}}},
          .parallel_instances = true};
}

Result<std::string> IdentityBackend::complete_config(const ModelSource& source) noexcept {
  return source.config;
}

Result<std::unique_ptr<BackendModel>> IdentityBackend::load(const ModelSource& source) noexcept {
  Result<IdentityConfig> config = read_identity_config(source.model);
  if (!config.ok()) return std::move(config).status();
  return std::unique_ptr<BackendModel>(std::make_unique<IdentityModel>(config.value(), clock_));
}

}  // namespace atl::identity
