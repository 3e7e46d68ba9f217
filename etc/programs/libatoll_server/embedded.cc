#include "atoll/core/embedded.h"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "atoll/runtime/shared_object.h"
#include "kernel/log/log_sink.h"
#include "kernel/server/kernel.h"
#include "kernel/server/server.h"
#include "program_symbols.h"

namespace atl::embedded {
namespace {

using kernel::Kernel;

/// What the control thread works with. It outlives the thread, and stays for ever where the drain overran.
class Run final : public kernel::Program {
 public:
  explicit Run(const EmbeddedOptions& options) : services_(options.services) {
    arguments_.manifest_path = options.manifest_path;
    for (const auto& [key, text] : options.overrides)
      arguments_.overrides.push_back({key, text, cat("option ", key)});
    // Whoever runs a program cannot change its options.
    for (auto& item : kernel::overrides_from_environment(environ)) arguments_.overrides.push_back(item);
    arguments_.default_plugin_path = options.plugin_path;
    arguments_.version = ATOLL_VERSION;
    arguments_.program = this;
    sink_.send_to(options.log_receiver);
  }

  /// All of the server. [control]
  int serve() {
    // This thread is named as the main thread of the server's own program is. Threads inherit the name of the thread that makes them, so
    // the server's can be told from the program's.
    ::pthread_setname_np(::pthread_self(), "atoll");
    int code = kernel::run_server(arguments_, sink_);
    std::lock_guard lock(mutex_);
    if (code != kernel::kExitOverrun) kernel_ = nullptr;
    decided_ = true;
    changed_.notify_all();
    return code;
  }

  /// Waits until the server is active, or has failed.
  Status wait_until_decided() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return decided_; });
    return failure_.clone();
  }

  void* service(std::string_view interface_id) const noexcept {
    auto found = held_.find(interface_id);
    return found == held_.end() ? nullptr : found->second.implementation;
  }

  void end(int64_t timeout_ns) noexcept {
    std::lock_guard lock(mutex_);
    if (ends_.load()) return;
    timeout_ns_.store(timeout_ns);
    ends_.store(true);
    if (kernel_ != nullptr) kernel_->loop().post(make_task([] {}));
  }

  void release() noexcept {
    std::lock_guard lock(mutex_);
    if (kernel_ == nullptr) return;
    for (const auto& [id, lease] : held_) kernel_->services().release(lease.token);
  }

  // --- Program ---
  bool end_requested() const noexcept override { return ends_.load(); }
  int64_t drain_timeout_ns(int64_t configured_ns) const noexcept override {
    int64_t asked_ns = timeout_ns_.load();
    return asked_ns < 0 ? configured_ns : asked_ns;
  }
  void active(Kernel& kernel) override {
    kernel::OwnerId self = kernel.services().add_owner("program", {}, {services_.begin(), services_.end()});
    Status status;
    for (const std::string& id : services_) {
      Result<ServiceLease> lease = kernel.services().acquire(self, id, {});
      if (lease.ok()) {
        held_[id] = *lease;
      } else {
        status = std::move(lease).status();
      }
    }
    if (!status.ok()) {
      for (const auto& [id, lease] : held_) kernel.services().release(lease.token);
      ends_.store(true);
      return failed(status);
    }
    std::lock_guard lock(mutex_);
    kernel_ = &kernel;
    decided_ = true;
    changed_.notify_all();
  }
  void failed(const Status& cause) override {
    std::lock_guard lock(mutex_);
    if (failure_.ok()) failure_ = cause.clone();
  }

 private:
  const std::vector<std::string> services_;
  kernel::ServerArguments arguments_;
  kernel::LogSink sink_;
  std::atomic<bool> ends_{false};
  std::atomic<int64_t> timeout_ns_{-1};
  std::map<std::string, ServiceLease, std::less<>> held_;  // made before decided_ is true
  std::mutex mutex_;                                       // guards the following
  std::condition_variable changed_;
  bool decided_ = false;
  Status failure_;
  Kernel* kernel_ = nullptr;  // while it is active, and what is left of it
};

/// Keeps what may still run, as long as the process.
void keep(std::unique_ptr<Run> run) {
  static std::mutex mutex;
  static auto* kept = new std::vector<std::unique_ptr<Run>>;
  std::lock_guard lock(mutex);
  kept->push_back(std::move(run));
}

class Server final : public EmbeddedServer {
 public:
  explicit Server(const EmbeddedOptions& options)
      : run_(std::make_unique<Run>(options)), thread_([this] { code_ = run_->serve(); }) {}
  ~Server() override {
    if (!thread_.joinable()) return;
    end(-1);
    (void)release();
  }

  Status wait_until_decided() { return run_->wait_until_decided(); }

  void* service(std::string_view interface_id) const noexcept override { return run_->service(interface_id); }
  void end(int64_t timeout_ns) noexcept override {
    if (thread_.joinable()) run_->end(timeout_ns);
  }
  Status release() noexcept override {
    if (!thread_.joinable()) return {};
    run_->release();
    thread_.join();
    if (code_ != kernel::kExitOverrun) return {};
    keep(std::move(run_));
    return unavailable("the server did not end in time; what is left of it stays in memory");
  }

 private:
  std::unique_ptr<Run> run_;
  int code_ = 0;
  std::thread thread_;
};

}  // namespace

extern "C" __attribute__((visibility("default"))) EmbeddedServer* atoll_start_embedded_v1(
    const char* build_tag, const EmbeddedOptions& options, Status* failure) {
  try {
    if (std::strcmp(build_tag, ATOLL_BUILD_TAG) != 0) {
      *failure = make_status(Code::kFailedPrecondition, "libatoll_server.so: its build is ", ATOLL_BUILD_TAG,
                             ", that of the library beside it is ", build_tag);
      return nullptr;
    }
    if (must_prefer_own_symbols()) runtime::SharedObject::prefer_own_symbols();
    auto server = std::make_unique<Server>(options);
    *failure = server->wait_until_decided();
    return failure->ok() ? server.release() : nullptr;
  } catch (const std::exception& exception) {
    *failure = internal_error(exception.what());
    return nullptr;
  }
}

}  // namespace atl::embedded
