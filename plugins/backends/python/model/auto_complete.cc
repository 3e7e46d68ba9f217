#include "backends/python/model/auto_complete.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>

#include "atoll/proto/model_config_json.h"
#include "atoll/proto/parse_model_config.h"
#include "backends/python/calls/json_message.h"
#include "model_config.pb.h"

namespace atl::python {
namespace {

using inference::ModelConfig;

/// How long a worker that is done with, or takes nothing, is waited for.
constexpr auto kEnd = std::chrono::seconds(5);

/// A worker that is asked one thing.
class Asked final : private WorkerListener {
 public:
  explicit Asked(Log& log) noexcept : log_(log) {}
  virtual ~Asked() = default;

  /// \returns what the model has made of the configuration; null: it has no such function
  Result<nlohmann::json> ask(const WorkerContext& context, WorkerSpec spec, const std::string& question,
                             int64_t timeout_ns) {
    Result<std::unique_ptr<Worker>> started = Worker::start(context, std::move(spec), *this);
    if (!started.ok()) return std::move(started).status();
    Worker& worker = **started;
    {
      std::lock_guard lock(mutex_);
      worker_ = &worker;
      changed_.notify_all();
    }
    Status sent = send_work_json(worker, MessageType::kAutoComplete, question);
    std::unique_lock lock(mutex_);
    if (!sent.ok()) {
      // One that takes nothing has ended, as a rule, and how it did says more.
      changed_.wait_for(lock, kEnd, [this] { return has_ended_; });
      return has_ended_ ? unavailable(end_) : std::move(sent);
    }
    const auto has_come = [this] { return answer_.has_value() || has_ended_; };
    if (timeout_ns == 0) timeout_ns = std::numeric_limits<int64_t>::max() / 4;
    if (!changed_.wait_for(lock, std::chrono::nanoseconds(timeout_ns), has_come)) {
      worker.kill("is killed because auto_complete_config() has not returned in time");
      changed_.wait(lock, has_come);
    }
    if (!answer_.has_value()) return unavailable(end_);
    RingMessage message;
    message.type = MessageType::kFinalize;
    (void)worker.send_work(message);
    changed_.wait_for(lock, kEnd, [this] { return has_ended_; });
    return std::move(*answer_);
  }

 private:
  Status on_message(const RingMessage& message) noexcept override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return worker_ != nullptr; });
    if (message.type == MessageType::kFinalized) return {};
    Result<nlohmann::json> object = read_json(*worker_->memory(), message);
    release_payload(*worker_->memory(), message);
    if (!object.ok()) return std::move(object).status();
    if (message.type == MessageType::kLog) {
      log_.info(worker_->name(), ": ", text_in(*object, "message"));
      return {};
    }
    if (message.type != MessageType::kAutoCompleted || answer_.has_value()) {
      return invalid_argument("found message ", static_cast<uint32_t>(message.type));
    }
    Status failure = error_in(*object);
    answer_ = failure.ok() ? Result<nlohmann::json>((*object)["config"])
                           : Result<nlohmann::json>(std::move(failure));
    changed_.notify_all();
    return {};
  }
  void on_end(const std::string& how) noexcept override {
    std::lock_guard lock(mutex_);
    has_ended_ = true;
    end_ = how;
    changed_.notify_all();
  }

  Log& log_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Worker* worker_ = nullptr;
  std::optional<Result<nlohmann::json>> answer_;
  bool has_ended_ = false;
  std::string end_;
};

/// Only what the function may change.
Result<std::string> merge(const std::string& config, const std::string& completed_json) {
  Result<std::string> bytes = proto::model_config_from_json(completed_json);
  if (!bytes.ok()) return std::move(bytes).status();
  ModelConfig merged, completed;
  if (!proto::parse_model_config(config, &merged) || !proto::parse_model_config(*bytes, &completed)) {
    return internal_error("the model's configuration cannot be parsed");
  }
  merged.set_max_batch_size(completed.max_batch_size());
  *merged.mutable_input() = completed.input();
  *merged.mutable_output() = completed.output();
  if (merged.scheduling_choice_case() == ModelConfig::SCHEDULING_CHOICE_NOT_SET &&
      completed.has_dynamic_batching()) {
    *merged.mutable_dynamic_batching() = completed.dynamic_batching();
  }
  if (completed.has_model_transaction_policy()) {
    *merged.mutable_model_transaction_policy() = completed.model_transaction_policy();
  }
  return merged.SerializeAsString();
}

}  // namespace

Result<std::string> auto_complete(const WorkerContext& context, const ModelProgram& program,
                                  const std::string& model, const std::string& config) {
  Result<std::string> json = proto::model_config_json(config);
  if (!json.ok()) return std::move(json).status();
  nlohmann::json question = program.message;
  question["config"] = nlohmann::json::parse(json->empty() ? "{}" : *json, nullptr, false);
  Asked asked(context.log);
  Result<nlohmann::json> answer =
      asked.ask(context, program.worker(model), dump_json(question), program.settings.start_timeout_ns);
  if (!answer.ok()) return program.explained(std::move(answer).status());
  if (answer->is_null()) return config;
  return merge(config, dump_json(*answer));
}

}  // namespace atl::python
