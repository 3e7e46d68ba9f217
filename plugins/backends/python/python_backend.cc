#include "backends/python/python_backend.h"

#include <utility>

#include "atoll/proto/model_config_json.h"
#include "backends/python/auto_complete.h"
#include "backends/python/python_model.h"

namespace atl::python {

PythonBackend::PythonBackend(Host& host, PythonSettings settings, std::string python_folder)
    : host_(host),
      settings_(std::move(settings)),
      python_folder_(std::move(python_folder)),
      loop_(host.clock()),
      server_(host),
      context_{loop_, host.executors(), host.clock(), host.log(), server_, metrics_, graph_} {}

BackendTraits PythonBackend::traits() const noexcept {
  return {.preferred_groups = {{.kind = InstanceKind::kCpu, .count = 0, .gpus = {}},
                               {.kind = InstanceKind::kGpu, .count = 0, .gpus = {}}},
          .parallel_instances = true};
}

Result<ModelProgram> PythonBackend::prepare(const ModelSource& source) {
  Result<ModelProgram> program = ModelProgram::find(settings_, python_folder_, packed_, source);
  if (!program.ok()) return program;
  ATOLL_RETURN_IF_ERROR(loop_.start(host_.executors()));
  return program;
}

Result<std::string> PythonBackend::complete_config(const ModelSource& source) noexcept {
  Result<ModelProgram> program = prepare(source);
  if (!program.ok()) return std::move(program).status();
  return auto_complete(context_, *program, source.name, source.config);
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
