#include <string>

#include "error.h"
#include "objects.h"
#include "request/in_process_request.h"
#include "trace/inference_trace.h"

namespace atl::triton {
namespace {

/// What both have in common: they are not known to their maker under their own names.
struct ServerTrace : TRITONSERVER_InferenceTrace {
  explicit ServerTrace(Trace& of) noexcept : trace(of) {}

  TRITONSERVER_Error* set_context(const char*) override {
    return new_error(TRITONSERVER_ERROR_UNSUPPORTED, "the context of a trace of the server's cannot be set");
  }
  void report_custom(uint64_t timestamp_ns, const char* name) override {
    trace.report_named(name, static_cast<int64_t>(timestamp_ns));
  }

  Trace& trace;

 protected:
  ~ServerTrace() = default;
};

/// Of a request that foreign code makes on behalf of another one: recorded when it is sent, as its model is known
/// only then.
class ChildTrace final : public ServerTrace {
 public:
  ChildTrace(Trace& parent, const char* context) : ServerTrace(parent), context_(context) {}
  virtual ~ChildTrace() = default;

  uint64_t id() const noexcept override { return 0; }
  uint64_t parent_id() const noexcept override { return trace.id(); }
  const char* model_name() const noexcept override { return ""; }
  int64_t model_version() const noexcept override { return -1; }
  const char* request_id() const noexcept override { return ""; }
  const char* context() const noexcept override { return context_.c_str(); }
  TRITONSERVER_InferenceTrace* spawn() override { return new ChildTrace(trace, context()); }
  TRITONSERVER_Error* remove() override {
    delete this;
    return nullptr;
  }
  bool take() noexcept override { return true; }
  Trace* begin(const ModelInfo& model, std::string_view request_id) noexcept override {
    Trace* child = trace.spawn_child(model.name, model.version, request_id);
    delete this;
    return child;
  }
  bool outlives_begin() const noexcept override { return false; }
  void drop() noexcept override { delete this; }

 private:
  std::string context_;
};

/// In the request's arena.
class ShownTrace final : public ServerTrace {
 public:
  explicit ShownTrace(Request& request) noexcept
      : ServerTrace(*request.trace), model_(request.model), request_id_(c_text(request.id)) {
    const std::string_view parent = trace.traceparent();
    if (!parent.empty())
      context_ = request.arena().copy_text(cat("{\"traceparent\":\"", parent, "\"}")).data();
  }

  uint64_t id() const noexcept override { return trace.id(); }
  uint64_t parent_id() const noexcept override { return 0; }
  const char* model_name() const noexcept override {
    return model_ == nullptr ? "" : model_->info().name.c_str();
  }
  int64_t model_version() const noexcept override { return model_ == nullptr ? -1 : model_->info().version; }
  const char* request_id() const noexcept override { return request_id_; }
  const char* context() const noexcept override { return context_; }
  TRITONSERVER_InferenceTrace* spawn() override { return new ChildTrace(trace, context_); }
  TRITONSERVER_Error* remove() override {
    return invalid_argument("the trace of a request cannot be deleted: it is the server's");
  }
  bool take() noexcept override { return false; }
  Trace* begin(const ModelInfo&, std::string_view) noexcept override { return nullptr; }
  bool outlives_begin() const noexcept override { return true; }
  void drop() noexcept override {}

 private:
  Model* model_;
  const char* request_id_;
  const char* context_ = "";
};

}  // namespace

TRITONSERVER_InferenceTrace* show_trace(Request& request) noexcept {
  if (request.trace == nullptr) return nullptr;
  if (TRITONSERVER_InferenceTrace* own = program_trace_of(request); own != nullptr) return own;
  return request.arena().make<ShownTrace>(request);
}

}  // namespace atl::triton
