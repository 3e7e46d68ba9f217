#include "models/catalog/loading/warmup.h"

#include <algorithm>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <utility>
#include <vector>

#include "atoll/inner_request.h"
#include "model_config.pb.h"
#include "models/catalog/loading/model_file.h"

namespace atl::models {
namespace {

using Sample = inference::ModelWarmup;

/// Drops what it is answered, but for the first failure.
class WarmupRequest final : public InnerRequest {
 public:
  virtual ~WarmupRequest() = default;

  /// Until the backend has done with it. \returns the first failure it was answered
  Status wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return ended_; });
    return std::move(failure_);
  }

 private:
  Status reserve(const OutputTensor& output, uint64_t size_bytes) noexcept override {
    if (size_bytes <= kWarmupBytesMax) return {};
    return invalid_argument("output '", output.name, "' takes ", size_bytes, " bytes");
  }
  void on_response(Response* response, uint32_t) noexcept override {
    if (response != nullptr && failure_.ok()) failure_ = std::move(response->error);
  }
  void on_end() noexcept override {
    std::scoped_lock lock(mutex_);
    ended_ = true;
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false;
  Status failure_;
};

/// One input of a sample, shared by all its requests.
struct SampleInput {
  std::string name;
  DataType datatype = DataType::kInvalid;
  std::vector<int64_t> dims;
  std::string bytes;
};

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

Result<std::vector<SampleInput>> sample_inputs(const Sample& sample, const std::string& model_directory) {
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
  return inputs;
}

Status fill(Request& request, const std::vector<SampleInput>& inputs, ServedModel& model) {
  Arena& arena = request.arena();
  request.model = &model;
  for (const SampleInput& sample : inputs) {
    const auto& specs = model.info().inputs;
    bool configured =
        std::any_of(specs.begin(), specs.end(), [&](const auto& spec) { return spec.name == sample.name; });
    InputTensor& input = request.add_input();
    input.name = arena.copy_text(sample.name);
    input.datatype = sample.datatype;
    if (!configured) input.flags = InputTensor::kAddedByScheduler;  // a control tensor
    size_t batch_dims = model.info().max_batch_size != 0 ? 1 : 0;
    auto* shape = arena.make_array<int64_t>(sample.dims.size() + batch_dims);
    if (batch_dims != 0) shape[0] = 1;
    std::copy(sample.dims.begin(), sample.dims.end(), shape + batch_dims);
    input.shape = {shape, sample.dims.size() + batch_dims};
    auto* buffer = arena.make<Buffer>();
    buffer->data = const_cast<char*>(sample.bytes.data());  // backends only read inputs
    buffer->size_bytes = sample.bytes.size();
    input.buffers = {buffer, 1};
    input.size_bytes = sample.bytes.size();
  }
  return model.validator().validate(request);
}

/// \returns the failures, "<e1>; <e2>; ".
std::string execute(const Sample& sample, const std::vector<SampleInput>& inputs, ServedModel& model,
                    BackendInstance& instance, AdmittedInstance* admission) {
  std::string failures;
  std::vector<std::unique_ptr<WarmupRequest>> contexts;
  std::vector<Request*> requests;
  for (uint32_t i = 0; i < sample.batch_size(); ++i) {
    WarmupRequest& context = *contexts.emplace_back(std::make_unique<WarmupRequest>());
    context.begin();
    if (Status status = fill(context.request, inputs, model); !status.ok()) return cat(status.text(), "; ");
    requests.push_back(&context.request);
  }
  Batch batch;
  batch.requests = requests;
  batch.total_batch_size = sample.batch_size();
  if (admission != nullptr && admission->holds_resources()) {
    for (Request* request : requests) request->call_flags |= kHoldsResources;
  }
  Status executed;
  {
    AdmittedExecution execution(admission);
    executed = instance.execute(batch);
  }
  if (!executed.ok()) return cat(executed.text(), "; ");
  for (const auto& context : contexts) {
    if (Status status = context->wait(); !status.ok()) failures += cat(status.text(), "; ");
  }
  return failures;
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

Status failed(const Sample& sample, std::string_view why) {
  return invalid_argument("failed to run warmup sample '", sample.name(), "': ", why);
}

}  // namespace

Status run_warmup(const inference::ModelConfig& config, const std::string& model_directory,
                  ServedModel& model, std::span<const ScheduledInstance> instances) {
  for (const Sample& sample : config.model_warmup()) {
    if (sample.batch_size() == 0) continue;
    if (Status status = check_bounds(sample, model.info()); !status.ok()) {
      return failed(sample, cat(status.text(), "; "));
    }
    Result<std::vector<SampleInput>> inputs = sample_inputs(sample, model_directory);
    if (!inputs.ok()) return failed(sample, cat(inputs.status().text(), "; "));
    for (const ScheduledInstance& instance : instances) {
      AdmittedInstance* admission = admission_of(model.parts(), instance);
      for (uint32_t i = 0; i < std::max(sample.count(), 1U); ++i) {
        std::string failures = execute(sample, inputs.value(), model, *instance.backend, admission);
        if (!failures.empty()) return failed(sample, failures);
      }
    }
  }
  return {};
}

}  // namespace atl::models
