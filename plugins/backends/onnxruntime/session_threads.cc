#include "backends/onnxruntime/session_threads.h"

#include <future>
#include <memory>
#include <utility>

namespace atl::ort {
namespace {

void join_thread(OrtCustomThreadHandle thread) {
  auto* executor = reinterpret_cast<SerialExecutor*>(const_cast<OrtCustomHandleType*>(thread));
  executor->destroy();  // waits until the task returns
}

}  // namespace

Result<SessionThreads> SessionThreads::make(ExecutorFactory& executors,
                                            const OnnxSessionSettings& settings) noexcept {
  // The thread that calls is one of each number.
  int count = settings.intra_op_threads - 1;
  if (settings.execution_mode == ORT_PARALLEL) count += settings.inter_op_threads - 1;
  SessionThreads made;
  for (int i = 0; i < count; ++i) {
    auto thread = executors.create("onnxruntime", {});
    if (!thread.ok()) return std::move(thread).status();
    made.threads_.push_back(std::move(thread).value());
  }
  return made;
}

Status SessionThreads::give_to(OrtSessionOptions& options) noexcept {
  const OrtApi& ort = api();
  ATOLL_RETURN_IF_ERROR(check(ort.SessionOptionsSetCustomCreateThreadFn(&options, &take)));
  ATOLL_RETURN_IF_ERROR(check(ort.SessionOptionsSetCustomThreadCreationOptions(&options, this)));
  return check(ort.SessionOptionsSetCustomJoinThreadFn(&options, &join_thread));
}

/// One endless task of an executor. \returns null: it wants more than was foreseen, which fails the session.
OrtCustomThreadHandle SessionThreads::take(void* self, OrtThreadWorkerFn work, void* argument) {
  auto& threads = static_cast<SessionThreads*>(self)->threads_;
  if (threads.empty()) return nullptr;
  SerialExecutor* thread = threads.back().release();
  threads.pop_back();
  // A task that has not begun is dropped with its executor, and ONNX Runtime's other threads wait for this
  // one to end before they do.
  auto begun = std::make_shared<std::promise<void>>();
  thread->post(make_task([begun, work, argument] {
    begun->set_value();
    work(argument);
  }));
  begun->get_future().wait();
  return reinterpret_cast<OrtCustomThreadHandle>(thread);
}

}  // namespace atl::ort
