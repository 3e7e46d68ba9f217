#include "backends/python/python_backend.h"

#include <utility>

#include "atoll/proto/model_config_json.h"
#include "backends/python/model/auto_complete.h"
#include "backends/python/model/python_model.h"
#include "model_config.pb.h"

namespace atl::python {

namespace {

/// As clients of Triton see a model that a backend's program runs.
Result<std::string> with_runtime(const std::string& config) {
  inference::ModelConfig message;
  if (!message.ParseFromString(config)) return internal_error("the model's configuration cannot be parsed");
  message.set_runtime("model.py");
  return message.SerializeAsString();
}

/// The groups that limits are set in, and one line if they cannot all be.
PythonSettings with_groups(PythonSettings settings, Log& log) {
  if (settings.cgroup.empty()) return settings;
  std::string why;
  settings.limits.groups = GroupFolder::open(settings.cgroup, why);
  if (!why.empty())
    log.warning("limits of workers that option 'cgroup' does not serve are resource limits: ", why);
  return settings;
}

}  // namespace

PythonBackend::PythonBackend(Host& host, PythonSettings settings, std::string python_folder)
    : host_(host),
      settings_(with_groups(std::move(settings), host.log())),
      python_folder_(std::move(python_folder)),
      scripts_(std::string(host.instance_name()), settings_.directories),
      loop_(host.clock()),
      server_(host),
      devices_(host),
      reloads_(host, loop_, server_),
      context_{loop_,    host.executors(), host.clock(),    host.log(), server_,
               metrics_, graph_,           worker_metrics_, devices_} {}

BackendTraits PythonBackend::traits() const noexcept {
  return {.preferred_groups = {{.kind = InstanceKind::kCpu, .count = 0, .gpus = {}},
                               {.kind = InstanceKind::kGpu, .count = 0, .gpus = {}}},
          .parallel_instances = true};
}

Result<bool> PythonBackend::serves(const ModelSource& source) noexcept {
  Result<std::optional<BackendScript>> script = scripts_.find(source);
  if (!script.ok()) return std::move(script).status();
  return script->has_value();
}

Result<ModelProgram> PythonBackend::prepare(const ModelSource& source) {
  Result<std::optional<BackendScript>> script = scripts_.find(source);
  if (!script.ok()) return std::move(script).status();
  // Its settings are those of what runs it.
  Result<ModelSettings> settings =
      model_settings(settings_, source, script->has_value() ? host_.instance_name() : std::string_view());
  if (!settings.ok()) return std::move(settings).status();
  ATOLL_RETURN_IF_ERROR(loop_.start(host_.executors()));
  // Before anything of it is read, so that no change is missed.
  reloads_.set(source, settings->watch);
  return ModelProgram::find(std::move(settings).value(), *script, python_folder_, packed_, source);
}

Result<std::string> PythonBackend::complete_config(const ModelSource& source) noexcept {
  Result<ModelProgram> program = prepare(source);
  if (!program.ok()) return std::move(program).status();
  Result<std::string> config = auto_complete(context_, *program, source.name, source.config);
  return config.ok() && program->is_backends ? with_runtime(*config) : std::move(config);
}

Result<std::unique_ptr<BackendModel>> PythonBackend::load(const ModelSource& source) noexcept {
  Result<ModelProgram> program = prepare(source);
  if (!program.ok()) return std::move(program).status();
  Result<std::string> config = proto::model_config_json(source.config);
  if (!config.ok()) return std::move(config).status();
  return std::unique_ptr<BackendModel>(
      std::make_unique<PythonModel>(context_, std::move(program).value(), source, std::move(config).value()));
}

}  // namespace atl::python
