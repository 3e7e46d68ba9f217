#include "backends/python/model/python_model.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "backends/python/calls/json_message.h"

namespace atl::python {

PythonModel::PythonModel(const WorkerContext& context, ModelProgram program, const ModelSource& source,
                         std::string config_json)
    : context_(context),
      program_(std::move(program)),
      name_(source.name),
      directory_(source.model_directory),
      config_json_(std::move(config_json)),
      version_(source.version),
      decoupled_(source.model.decoupled),
      counts_(context.worker_metrics.of(name_, version_)),
      outputs_(source, context.log) {}

Result<std::unique_ptr<BackendInstance>> PythonModel::create_instance(const InstanceSpec& spec) noexcept {
  nlohmann::json start = program_.message;
  start["instance_name"] = spec.name;
  start["decoupled"] = decoupled_;
  start["args"] = {{"model_config", config_json_},
                   {"model_instance_kind", std::string(instance_kind_name(spec.kind))},
                   {"model_instance_name", spec.name},
                   {"model_instance_device_id", cat(spec.device_id)},
                   {"model_repository", directory_},
                   {"model_version", cat(version_)},
                   {"model_name", name_}};
  InstancePlan plan;
  plan.worker = program_.worker(spec.name, spec.cpu_cores);
  plan.start = dump_json(start);
  plan.start_timeout_ns = program_.settings.start_timeout_ns;
  plan.execute_timeout_ns = program_.settings.execute_timeout_ns;
  plan.stop_timeout_ns = program_.settings.stop_timeout_ns;
  ExecutionContext execution{name_,         decoupled_,        spec.reporter, &context_.clock,
                             &context_.log, &context_.devices, counts_,       &outputs_};
  auto instance = PythonInstance::create(context_, group_, std::move(execution), std::move(plan));
  if (!instance.ok()) return program_.explained(std::move(instance).status());
  return std::unique_ptr<BackendInstance>(std::move(instance).value());
}

}  // namespace atl::python
