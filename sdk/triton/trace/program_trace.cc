#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "atoll/memory/memory.h"
#include "error.h"
#include "trace/inference_trace.h"
#include "trace/trace_context.h"

namespace atl::triton {
namespace {

uint64_t next_id() noexcept {
  static constinit std::atomic<uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

/// The clock of the timestamps that backends give.
uint64_t now_ns() noexcept {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

/// One piece; false: the bytes cannot be read here.
bool gather(std::span<const Buffer> buffers, std::vector<char>& bytes) noexcept {
  for (const Buffer& buffer : buffers) {
    if (buffer.kind == MemoryKind::kGpu || !wait_until_ready(buffer).ok()) return false;
    const auto* from = static_cast<const char*>(buffer.data);
    bytes.insert(bytes.end(), from, from + buffer.size_bytes);
  }
  return true;
}

class ProgramTrace final : public TRITONSERVER_InferenceTrace, public Trace {
 public:
  ProgramTrace(const TraceCallbacks& callbacks, uint64_t parent_id)
      : callbacks_(callbacks), id_(next_id()), parent_id_(parent_id) {}
  virtual ~ProgramTrace() = default;

  // --- as the program sees it ---
  uint64_t id() const noexcept override { return id_; }
  uint64_t parent_id() const noexcept override { return parent_id_; }
  const char* model_name() const noexcept override { return model_name_.c_str(); }
  int64_t model_version() const noexcept override { return model_version_; }
  const char* request_id() const noexcept override { return request_id_.c_str(); }
  const char* context() const noexcept override {
    std::lock_guard lock(mutex_);
    return context_.c_str();
  }
  TRITONSERVER_Error* set_context(const char* text) override {
    std::lock_guard lock(mutex_);
    context_ = text;
    traceparent_ = traceparent_of(context_);
    return nullptr;
  }
  void report_custom(uint64_t timestamp_ns, const char* name) override {
    if (!wants_times()) return;
    if (timestamp_ns == 0) timestamp_ns = now_ns();
    {
      // The callback has no room for a name: it finds it in the context, by the time.
      std::lock_guard lock(mutex_);
      add_member(context_, timestamp_ns, name);
    }
    callbacks_.activity(this, TRITONSERVER_TRACE_CUSTOM_ACTIVITY, timestamp_ns, callbacks_.userp);
  }
  TRITONSERVER_InferenceTrace* spawn() override { return make_child().release(); }
  TRITONSERVER_Error* remove() override {
    if (lent_.load(std::memory_order_acquire)) {
      return invalid_argument("a trace cannot be deleted before the server has released it");
    }
    delete this;
    return nullptr;
  }

  bool take() noexcept override { return !lent_.exchange(true, std::memory_order_acq_rel); }
  Trace* begin(const ModelInfo& model, std::string_view request_id) noexcept override {
    model_name_ = model.name;
    model_version_ = model.version;
    request_id_ = request_id;
    return this;
  }
  bool outlives_begin() const noexcept override { return true; }
  void drop() noexcept override { release(); }

  // --- as the server sees it ---
  void report(TraceActivity activity, int64_t timestamp_ns) noexcept override {
    if (!wants_times()) return;
    callbacks_.activity(this, static_cast<TRITONSERVER_InferenceTraceActivity>(activity),
                        timestamp_ns == 0 ? now_ns() : static_cast<uint64_t>(timestamp_ns), callbacks_.userp);
  }
  void report_tensor(TraceActivity activity, std::string_view name, DataType datatype,
                     std::span<const int64_t> shape, std::span<const Buffer> buffers) noexcept override {
    if (!wants_tensors()) return;
    std::vector<char> bytes;
    Buffer whole;
    if (buffers.size() == 1) {
      if (!wait_until_ready(buffers[0]).ok()) return;
      whole = buffers[0];
    } else {
      if (!gather(buffers, bytes)) return;
      whole.data = bytes.data();
      whole.size_bytes = bytes.size();
    }
    callbacks_.tensor_activity(
        this, static_cast<TRITONSERVER_InferenceTraceActivity>(activity), std::string(name).c_str(),
        static_cast<TRITONSERVER_DataType>(datatype), whole.data, whole.size_bytes, shape.data(),
        shape.size(), static_cast<TRITONSERVER_MemoryType>(whole.kind), whole.device_id, callbacks_.userp);
  }
  void report_named(const char* name, int64_t timestamp_ns) noexcept override {
    report_custom(static_cast<uint64_t>(timestamp_ns), name);
  }
  std::string_view traceparent() const noexcept override { return traceparent_; }
  Trace* spawn_child(std::string_view model, int64_t version, std::string_view request_id) noexcept override {
    auto child = make_child();
    child->lent_.store(true, std::memory_order_relaxed);
    child->model_name_ = model;
    child->model_version_ = version;
    child->request_id_ = request_id;
    return child.release();
  }
  void release() noexcept override {
    lent_.store(false, std::memory_order_release);
    callbacks_.release(this, callbacks_.userp);
  }
  bool wants_tensors() const noexcept override {
    return (callbacks_.level & TRITONSERVER_TRACE_LEVEL_TENSORS) != 0 &&
           callbacks_.tensor_activity != nullptr;
  }

 private:
  bool wants_times() const noexcept { return (callbacks_.level & TRITONSERVER_TRACE_LEVEL_TIMESTAMPS) != 0; }
  std::unique_ptr<ProgramTrace> make_child() const {
    auto child = std::make_unique<ProgramTrace>(callbacks_, id_);
    std::lock_guard lock(mutex_);
    child->context_ = context_;
    child->traceparent_ = traceparent_;
    return child;
  }

  const TraceCallbacks callbacks_;
  const uint64_t id_;
  const uint64_t parent_id_;
  std::atomic<bool> lent_{false};  ///< to the server
  std::string model_name_;
  int64_t model_version_ = -1;
  std::string request_id_;
  mutable std::mutex mutex_;  ///< of the context
  std::string context_;
  std::string traceparent_;  ///< changes only while nothing is traced
};

}  // namespace

TRITONSERVER_InferenceTrace* new_program_trace(const TraceCallbacks& callbacks, uint64_t parent_id) {
  return new ProgramTrace(callbacks, parent_id);
}

}  // namespace atl::triton
