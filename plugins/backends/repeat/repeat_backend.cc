#include "backends/repeat/repeat_backend.h"

#include <utility>

#include "backends/repeat/repeat_config.h"
#include "backends/repeat/repeat_instance.h"

namespace atl::repeat {
namespace {

class RepeatModel final : public BackendModel {
 public:
  RepeatModel(RepeatConfig config, const Clock& clock, ExecutorFactory& executors) noexcept
      : config_(std::move(config)), clock_(clock), executors_(executors) {}

  Result<std::unique_ptr<BackendInstance>> create_instance(const InstanceSpec& spec) noexcept override {
    if (spec.kind == InstanceKind::kGpu) {
      return invalid_argument("instance '", spec.name,
                              "' is of kind GPU; the repeat backend serves KIND_CPU and KIND_MODEL");
    }
    Result<SerialExecutorPtr> executor = executors_.create(spec.name, {});
    if (!executor.ok()) return std::move(executor).status();
    return std::unique_ptr<BackendInstance>(
        std::make_unique<RepeatInstance>(config_, clock_, spec.reporter, std::move(executor).value()));
  }

 private:
  const RepeatConfig config_;
  const Clock& clock_;
  ExecutorFactory& executors_;
};

}  // namespace

BackendTraits RepeatBackend::traits() const noexcept {
  return {.preferred_groups = {{.kind = InstanceKind::kCpu, .count = 0, .gpus = {}}},
          .parallel_instances = true};
}

Result<std::string> RepeatBackend::complete_config(const ModelSource& source) noexcept {
  return source.config;
}

Result<std::unique_ptr<BackendModel>> RepeatBackend::load(const ModelSource& source) noexcept {
  Result<RepeatConfig> config = read_repeat_config(source.model);
  if (!config.ok()) return std::move(config).status();
  return std::unique_ptr<BackendModel>(
      std::make_unique<RepeatModel>(std::move(config).value(), clock_, executors_));
}

}  // namespace atl::repeat
