#include "models/catalog/loading/warmup_run.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "atoll/lib/duration_text.h"
#include "models/catalog/loading/warmup.h"

namespace atl::models {
namespace {

/// How often a wait looks at the clock and at the gate.
constexpr auto kLook = std::chrono::milliseconds(50);

}  // namespace

Status WarmupRun::Sink::reserve(const OutputTensor& output, uint64_t size_bytes) noexcept {
  if (size_bytes <= kWarmupBytesMax) return {};
  return invalid_argument("output '", output.name, "' takes ", size_bytes, " bytes");
}

void WarmupRun::Sink::on_response(Response* response, uint32_t) noexcept {
  if (response != nullptr && failure.ok()) failure = std::move(response->error);
}

Status WarmupRun::add(ServedModel& model) {
  Sink& sink = *sinks_.emplace_back(std::make_unique<Sink>(*this));
  Request& request = sink.request;
  Arena& arena = request.arena();
  request.model = &model;
  for (const SampleInput& sample : *inputs_) {
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

Status WarmupRun::execute(BackendInstance& instance, AdmittedInstance* admission, int64_t now_ns) {
  begun_ns_ = now_ns;
  std::vector<Request*> requests;
  const bool holds = admission != nullptr && admission->holds_resources();
  for (const auto& sink : sinks_) {
    sink->of(whole_);
    sink->begin();
    if (holds) sink->request.call_flags |= kHoldsResources;
    requests.push_back(&sink->request);
  }
  left_ = sinks_.size();
  Batch batch;
  batch.requests = requests;
  batch.total_batch_size = static_cast<uint32_t>(requests.size());
  AdmittedExecution execution(admission);
  Status status = instance.execute(batch);
  if (!status.ok()) {
    std::scoped_lock lock(mutex_);
    left_ = 0;
  }
  return status;
}

Status WarmupRun::wait(Clock& clock, const Gate& gate, int64_t timeout_ns) {
  Status status;
  {
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, kLook, [&] { return left_ == 0; })) {
      if (gate.closed()) {
        status = unavailable("the server is going down");
        break;
      }
      if (timeout_ns != 0 && clock.now_ns() - begun_ns_ >= timeout_ns) {
        status = make_status(Code::kDeadlineExceeded, "the backend has not answered within ",
                             duration_text(timeout_ns));
        break;
      }
    }
  }
  if (!status.ok()) whole_.cancellation.cancel();
  return status;
}

std::string WarmupRun::failures() const {
  std::string text;
  for (const auto& sink : sinks_) {
    if (!sink->failure.ok()) text += cat(sink->failure.text(), "; ");
  }
  return text;
}

void WarmupRun::when_ended(std::function<void()> then) {
  {
    std::scoped_lock lock(mutex_);
    if (left_ != 0) {
      then_ = std::move(then);
      return;
    }
  }
  then();
}

void WarmupRun::one_ended() noexcept {
  std::function<void()> then;
  {
    std::scoped_lock lock(mutex_);
    if (--left_ != 0) return;
    then = std::move(then_);
    changed_.notify_all();  // under the lock: the run may be gone after it
  }
  if (then) then();
}

Status LeftWarmups::check(const std::string& model) const {
  std::scoped_lock lock(mutex_);
  const auto count = std::count_if(left_.begin(), left_.end(),
                                   [&](const auto& entry) { return entry.second.model == model; });
  if (count < kMost) return {};
  return make_status(Code::kResourceExhausted, count,
                     " warm-up requests of earlier loads were not answered, and the memory of those loads is "
                     "still in use; no more is loaded before one of them ends");
}

void LeftWarmups::take(std::shared_ptr<WarmupRun> run, std::unique_ptr<ServedModel> version) {
  WarmupRun& left = *run;
  const ModelInfo& info = version->info();
  uint64_t number = 0;
  {
    std::scoped_lock lock(mutex_);
    number = ++last_;
    std::string text =
        cat("a warm-up request of model '", info.name, "' version ", info.version, " that was not answered");
    left_.emplace(number, Left{std::move(run), std::move(version), info.name, std::move(text)});
  }
  // The run may be in the middle of its last request's end, so another thread frees it.
  left.when_ended([this, number] { host_.workers().run(make_task([this, number] { end(number); })); });
}

void LeftWarmups::end(uint64_t number) {
  Left left;
  {
    std::scoped_lock lock(mutex_);
    left = std::move(left_.extract(number).mapped());
  }
  host_.log().info(left.text, " in time has ended; its version is freed");
  left.run.reset();
  left.version.release()->destroy_later();
}

std::vector<std::string> LeftWarmups::texts() const {
  std::scoped_lock lock(mutex_);
  std::vector<std::string> texts;
  for (const auto& [number, left] : left_) texts.push_back(left.text);
  return texts;
}

}  // namespace atl::models
