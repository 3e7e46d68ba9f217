#include "models/catalog/loading/warmup.h"

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "model_config.pb.h"
#include "models/catalog/loading/model_file.h"

namespace atl::models {
namespace {

using Sample = inference::ModelWarmup;

Result<std::string> sample_bytes(const std::string& name, const Sample::Input& input, uint64_t elements,
                                 const std::string& model_directory) {
  auto datatype = static_cast<DataType>(input.data_type());
  bool text = datatype == DataType::kBytes;
  uint64_t size_bytes = 0;
  // An empty BYTES element is its length alone.
  uint64_t element_bytes = text ? sizeof(uint32_t) : data_type_size_bytes(datatype);
  if (__builtin_mul_overflow(elements, element_bytes, &size_bytes) || size_bytes > kWarmupBytesMax) {
    return invalid_argument("input '", name, "' has ", elements, " elements, more than ", kWarmupBytesMax,
                            " bytes");
  }
  if (!input.input_data_file().empty()) {
    std::string what = cat("warmup file '", input.input_data_file(), "' of input '", name, "'");
    Result<std::string> content =
        read_model_file(cat(model_directory, "/warmup"), input.input_data_file(), kWarmupBytesMax, what);
    if (!content.ok() || text) return content;
    if (content->size() < size_bytes) {
      return invalid_argument("warmup setting expects ", size_bytes, " bytes, but the data provided from ",
                              input.input_data_file(), "only has ", content->size(), " bytes");
    }
    content->resize(size_bytes);
    return content;
  }
  std::string bytes(size_bytes, '\0');
  if (!text && input.random_data()) {
    std::minstd_rand random(1);  // the same at every load
    for (char& byte : bytes) byte = static_cast<char>(random());
  }
  return bytes;
}

Result<SampleInputs> sample_inputs(const Sample& sample, const std::string& model_directory) {
  std::map<std::string, const Sample::Input*> by_name;
  for (const auto& [name, input] : sample.inputs()) by_name.emplace(name, &input);
  std::vector<SampleInput> inputs;
  for (const auto& [name, input] : by_name) {
    SampleInput made{
        name, static_cast<DataType>(input->data_type()), {input->dims().begin(), input->dims().end()}, {}};
    if (made.datatype == DataType::kInvalid) {
      return invalid_argument("warmup setting expects input '", name, "' to have input_data_type set");
    }
    bool variable = std::any_of(made.dims.begin(), made.dims.end(), [](int64_t dim) { return dim < 0; });
    if (variable) {
      return invalid_argument("warmup setting expects all variable-size dimensions are specified for input '",
                              name, "'");
    }
    std::optional<int64_t> elements = element_count(made.dims);
    if (!elements) return invalid_argument("input '", name, "' has more than 2^63 - 1 elements");
    Result<std::string> bytes = sample_bytes(name, *input, static_cast<uint64_t>(*elements), model_directory);
    if (!bytes.ok()) return std::move(bytes).status();
    made.bytes = std::move(bytes).value();
    inputs.push_back(std::move(made));
  }
  return std::make_shared<const std::vector<SampleInput>>(std::move(inputs));
}

Status check_bounds(const Sample& sample, const ModelInfo& info) {
  uint32_t batch_size_max = std::max(info.max_batch_size, 1U);
  if (sample.batch_size() > batch_size_max) {
    return invalid_argument("batch_size is ", sample.batch_size(), ", expected at most ", batch_size_max);
  }
  if (sample.count() > kWarmupCountMax) {
    return invalid_argument("count is ", sample.count(), ", expected at most ", kWarmupCountMax);
  }
  return {};
}

/// Null: it is always admitted.
AdmittedInstance* admission_of(const ModelParts& parts, const ScheduledInstance& instance) {
  for (size_t i = 0; i < parts.admission.instances().size(); ++i) {
    if (parts.scheduled[i].backend == instance.backend) return parts.admission.instances()[i];
  }
  return nullptr;
}

/// INVALID_ARGUMENT, whatever code the backend failed with: a sample is part of the model's configuration.
Status failed(const Sample& sample, const Status& why, Code code = Code::kInvalidArgument) {
  return make_status(code, "failed to run warmup sample '", sample.name(), "': ", why.text(), "; ");
}

/// The version is taken if the run is not answered in time.
Status execute(const WarmupOptions& options, const Sample& sample, const SampleInputs& inputs,
               std::unique_ptr<ServedModel>& model, const ScheduledInstance& instance) {
  auto run = std::make_shared<WarmupRun>(inputs);
  for (uint32_t i = 0; i < sample.batch_size(); ++i) {
    if (Status status = run->add(*model); !status.ok()) return failed(sample, status);
  }
  AdmittedInstance* admission = admission_of(model->parts(), instance);
  if (Status status = run->execute(*instance.backend, admission, options.clock.now_ns()); !status.ok()) {
    return failed(sample, status);
  }
  if (Status status = run->wait(options.clock, options.gate, options.timeout_ns); !status.ok()) {
    options.left.take(std::move(run), std::move(model));
    return failed(sample, status, status.code());
  }
  const std::string failures = run->failures();
  if (failures.empty()) return {};
  return invalid_argument("failed to run warmup sample '", sample.name(), "': ", failures);
}

}  // namespace

Status run_warmup(const WarmupOptions& options, const inference::ModelConfig& config,
                  const std::string& model_directory, std::unique_ptr<ServedModel>& model,
                  std::span<const ScheduledInstance> instances) {
  if (config.model_warmup().empty()) return {};
  ATOLL_RETURN_IF_ERROR(options.left.check(model->info().name));
  for (const Sample& sample : config.model_warmup()) {
    if (sample.batch_size() == 0) continue;
    if (Status status = check_bounds(sample, model->info()); !status.ok()) return failed(sample, status);
    Result<SampleInputs> inputs = sample_inputs(sample, model_directory);
    if (!inputs.ok()) return failed(sample, inputs.status());
    options.task.at(cat("running warmup sample '", sample.name(), "'"));
    for (const ScheduledInstance& instance : instances) {
      for (uint32_t i = 0; i < std::max(sample.count(), 1U); ++i) {
        ATOLL_RETURN_IF_ERROR(execute(options, sample, inputs.value(), model, instance));
      }
    }
  }
  return {};
}

}  // namespace atl::models
