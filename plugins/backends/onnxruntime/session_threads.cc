#include "session_threads.h"

#include <future>
#include <memory>
#include <utility>

namespace atl::ort {
namespace {

/// One endless task of an executor of its own. \returns null: no thread is to be had, which fails the
/// session.
OrtCustomThreadHandle create_thread(void* executors, OrtThreadWorkerFn work, void* argument) {
  auto executor = static_cast<ExecutorFactory*>(executors)->create("onnxruntime", {});
  if (!executor.ok()) return nullptr;
  // A task that has not begun is dropped with its executor, and ONNX Runtime's other threads wait for this
  // one to end before they do.
  auto begun = std::make_shared<std::promise<void>>();
  executor.value()->post(make_task([begun, work, argument] {
    begun->set_value();
    work(argument);
  }));
  begun->get_future().wait();
  return reinterpret_cast<OrtCustomThreadHandle>(executor.value().release());
}

void join_thread(OrtCustomThreadHandle thread) {
  auto* executor = reinterpret_cast<SerialExecutor*>(const_cast<OrtCustomHandleType*>(thread));
  executor->destroy();  // waits until the task returns
}

}  // namespace

Status use_executors(OrtSessionOptions& options, ExecutorFactory& executors) noexcept {
  const OrtApi& ort = api();
  ATOLL_RETURN_IF_ERROR(check(ort.SessionOptionsSetCustomCreateThreadFn(&options, &create_thread)));
  ATOLL_RETURN_IF_ERROR(check(ort.SessionOptionsSetCustomThreadCreationOptions(&options, &executors)));
  return check(ort.SessionOptionsSetCustomJoinThreadFn(&options, &join_thread));
}

}  // namespace atl::ort
