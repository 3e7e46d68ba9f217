#include "backends/python/model/model_worker.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "backends/python/calls/json_message.h"

namespace atl::python {
namespace {

/// How long a process may take from the end of finalize() to its own: threads of the model would keep it for ever.
constexpr int64_t kExitNs = 5 * kNsPerSecond;

/// What the worker says: what is measured here has in it how long its answer lay there, because nobody waited for it. A lie makes this thread
/// wait in vain a few times.
int64_t duration_ns(const RingMessage& message, int64_t measured_ns) noexcept {
  const bool is_less =
      message.value != 0 && message.value < static_cast<uint64_t>(std::max<int64_t>(measured_ns, 0));
  return is_less ? static_cast<int64_t>(message.value) : measured_ns;
}

LogLevel level_of(const nlohmann::json& object) {
  constexpr LogLevel kLevels[] = {LogLevel::kInfo, LogLevel::kWarning, LogLevel::kError, LogLevel::kDebug};
  const auto found = object.find("level");
  if (found == object.end() || !found->is_number_unsigned()) return LogLevel::kInfo;
  const auto level = found->get<uint64_t>();
  return level < std::size(kLevels) ? kLevels[level] : LogLevel::kInfo;
}

}  // namespace

Result<std::unique_ptr<ModelWorker>> ModelWorker::start(const WorkerContext& context, WorkerSpec spec,
                                                        const std::string& start,
                                                        const ExecutionContext& execution,
                                                        WorkerOwner& owner) {
  std::unique_ptr<ModelWorker> made(new ModelWorker(context, execution, owner));
  Result<std::unique_ptr<Worker>> worker = Worker::start(context, std::move(spec), *made);
  if (!worker.ok()) return std::move(worker).status();
  made->use(std::move(worker).value());
  if (Status sent = send_work_json(*made->worker_, MessageType::kInitialize, start); !sent.ok()) {
    // Nothing can be sent to one that ends already; how it ends says more than that.
    made->worker_->kill(
        made->worker_->has_left() ? "" : cat("is ended because it cannot be initialised: ", sent.message()));
  }
  return made;
}

void ModelWorker::use(std::unique_ptr<Worker> worker) {
  const std::shared_ptr<WorkerMemory>& memory = worker->memory();
  executions_ = std::make_unique<Executions>(execution_, memory->blocks, memory->slabs);
  calls_ = std::make_shared<InnerCalls>(*worker, context_.server, context_.graph, node_);
  executions_->set_cancellation_listener(*calls_);
  replies_ = std::make_shared<Replies>(*worker);
  worker_ = std::move(worker);
  context_.metrics.add_news(*this);
  if (execution_.counts != nullptr) execution_.counts->add_worker(worker_->pid());
  std::lock_guard lock(mutex_);
  is_ready_ = true;
  changed_.notify_all();
}

ModelWorker::~ModelWorker() {
  context_.graph.remove(node_);
  if (worker_ == nullptr) return;
  context_.metrics.remove_news(*this);
  worker_.reset();  // with its threads, which use the rest
}

Status ModelWorker::execute(std::span<Request* const> requests, int64_t start_ns) noexcept {
  RingMessage message;
  calls_->set_parent(*requests.front());
  ATOLL_RETURN_IF_ERROR(executions_->prepare(requests, start_ns, message));
  const uint64_t batch = batches();
  node_->set_executing(true);
  const int64_t wait_ns = Worker::is_reading() ? 0 : short_wait_.time_ns();
  if (wait_ns != 0) worker_->expect_message();
  if (!executions_->begin([&] { return worker_->send_work(message); })) {
    if (wait_ns != 0) worker_->stop_expecting();
    node_->set_executing(false);
    return unavailable("worker '", worker_->name(), "' has ended");
  }
  if (wait_ns != 0) wait_a_moment(batch, wait_ns);
  return {};
}

/// For the end of the batch after `batch` others, if it is likely to come soon.
void ModelWorker::wait_a_moment(uint64_t batch, int64_t time_ns) noexcept {
  const auto has_come = [&] { return batches() != batch; };
  worker_->read_until(context_.clock.now_ns() + time_ns, has_come);
  short_wait_.add_wait(has_come());
}

std::string ModelWorker::finalize(int64_t timeout_ns) {
  RingMessage message;
  message.type = MessageType::kFinalize;
  const bool is_asked = worker_->send_work(message);
  std::string why;
  std::unique_lock lock(mutex_);
  const auto ended = [this] { return has_ended_; };
  const auto finalized = [this] { return is_finalized_ || has_ended_; };
  if (!is_asked || !changed_.wait_for(lock, std::chrono::nanoseconds(timeout_ns), finalized)) {
    why = cat("is killed because it has not finalised within ", timeout_ns / kNsPerMs, " ms");
  } else if (!changed_.wait_for(lock, std::chrono::nanoseconds(std::min(timeout_ns, kExitNs)), ended)) {
    why = "is killed because it goes on after finalize() has returned";
  }
  if (has_ended_) why.clear();
  if (!why.empty()) worker_->kill(why);
  changed_.wait(lock, ended);
  return why;
}

Status ModelWorker::on_message(const RingMessage& message) noexcept {
  if (!is_ready_) {  // its process was quicker than start()
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return is_ready_.load(); });
  }
  switch (message.type) {
    case MessageType::kResponses:
      return take_responses(message);
    case MessageType::kInitialized:
      return take_initialized(message);
    case MessageType::kLog:
      return take_log(message);
    case MessageType::kProbed:
      return take_probed(message);
    case MessageType::kFinalized: {
      std::lock_guard lock(mutex_);
      is_finalized_ = true;
      changed_.notify_all();
      return {};
    }
    case MessageType::kInfer:
      return calls_->infer(message, *executions_);
    case MessageType::kCancelInfer:
      calls_->cancel(message.id);
      return {};
    case MessageType::kLoadModel:
    case MessageType::kUnloadModel:
    case MessageType::kModelReady:
      return take_control_call(*worker_->memory(), message, context_.server, replies_);
    default:
      if (MetricCalls::is_one(message.type)) return metrics_.take(*worker_->memory(), message, *replies_);
      return invalid_argument("found message ", static_cast<uint32_t>(message.type));
  }
}

Status ModelWorker::take_responses(const RingMessage& message) noexcept {
  PayloadView payload;
  if (!payload_of(*worker_->memory(), message, payload))
    return invalid_argument("found responses outside of its memory");
  if ((message.flags & kExecuteReturned) != 0) {
    short_wait_.add_execution(
        duration_ns(message, context_.clock.now_ns() - executions_->running_since_ns()));
    batches_.fetch_add(1, std::memory_order_relaxed);
    node_->set_executing(false);
  }
  Status status = executions_->take(message, payload, owner_);
  release_payload(*worker_->memory(), message);
  return status;
}

Status ModelWorker::take_initialized(const RingMessage& message) noexcept {
  Result<nlohmann::json> object = read_json(*worker_->memory(), message);
  release_payload(*worker_->memory(), message);
  if (!object.ok()) return std::move(object).status();
  if (const auto found = object->find("is_ready");
      found != object->end() && found->is_boolean() && found->get<bool>())
    probe_.enable();
  owner_.on_initialized(error_in(*object));
  return {};
}

bool ModelWorker::is_model_ready() noexcept {
  bool asks = false;
  const bool is_ready = probe_.is_ready(context_.clock.now_ns(), asks);
  if (asks) {
    RingMessage message;
    message.type = MessageType::kProbe;
    message.id = 1;
    worker_->send_side(message);
  }
  return is_ready;
}

Status ModelWorker::take_probed(const RingMessage& message) noexcept {
  bool is_ready = message.value == 1;
  if (message.size_bytes != 0) {
    Result<nlohmann::json> object = read_json(*worker_->memory(), message);
    release_payload(*worker_->memory(), message);
    if (!object.ok()) return std::move(object).status();
    is_ready = false;
    // It is asked every second as long as anybody wants to know: what it fails with is said when it changes.
    const std::string failure(error_in(*object).message());
    if (std::exchange(probe_failure_, failure) != failure)
      execution_.log->warning(worker_->name(), ": is_ready(): ", failure);
  }
  if (is_ready) probe_failure_.clear();
  probe_.answer(is_ready, context_.clock.now_ns());
  return {};
}

Status ModelWorker::take_log(const RingMessage& message) noexcept {
  Result<nlohmann::json> object = read_json(*worker_->memory(), message);
  release_payload(*worker_->memory(), message);
  if (!object.ok()) return std::move(object).status();
  const LogLevel level = level_of(*object);
  if (!execution_.log->enabled(level)) return {};
  const std::string file = text_in(*object, "file");
  const auto line = object->find("line");
  const uint64_t number = line != object->end() && line->is_number_unsigned() ? line->get<uint64_t>() : 0;
  execution_.log->write(level, cat(worker_->name(), ": ", text_in(*object, "message"),
                                   file.empty() ? std::string() : cat(" [", file, ":", number, "]")));
  return {};
}

void ModelWorker::on_end(const std::string& how) noexcept {
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return is_ready_.load(); });
  }
  if (execution_.counts != nullptr) execution_.counts->remove_worker(worker_->pid());
  owner_.on_gone(how, batches() != 0);
  executions_->fail_all(unavailable(how));
  calls_->close();
  replies_->close();
  {
    std::lock_guard lock(mutex_);
    has_ended_ = true;
    changed_.notify_all();
  }
  owner_.on_ended(how);
}

}  // namespace atl::python
