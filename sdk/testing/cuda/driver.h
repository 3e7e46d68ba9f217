/// The state of the double, and how each function of the driver begins.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "atoll/gpu/cuda_driver.h"
#include "atoll/testing/gpu/cuda_double.h"
#include "configuration.h"
#include "kernels.h"
#include "memory.h"
#include "streams.h"

namespace atl::cuda_double {

struct Device {
  int32_t ordinal = 0;
  DeviceConfiguration about;
  CudaContext primary = nullptr;  ///< null: not retained
  uint32_t retained = 0;
  uint64_t used = 0;
  uint64_t limit = UINT64_MAX;
  CudaResult failure = CudaResult::SUCCESS;  ///< another: lost
  uint64_t operations = 0;
  uint64_t fails_at = 0;  ///< this operation; 0: none
  CudaResult fails_with = CudaResult::SUCCESS;
};

struct Context {
  CudaContext handle = nullptr;
  Device* device = nullptr;
  std::shared_ptr<Stream> legacy;  ///< stream 0
};

/// `nth` counts down; 0: every call.
struct CallFailure {
  std::string function;
  uint64_t nth = 0;
  CudaResult code = CudaResult::SUCCESS;
};

/// All of it. Never destroyed: threads go on to the end of the process.
struct Driver {
  std::mutex mutex;  ///< of everything
  std::condition_variable changed;
  std::atomic<bool> is_forked = false;

  bool is_initialised = false;
  Configuration configuration;
  std::vector<std::unique_ptr<Device>> devices;
  Memory memory;
  std::map<CudaContext, std::shared_ptr<Context>> contexts;
  std::map<CudaStream, std::shared_ptr<Stream>> streams;
  std::vector<std::shared_ptr<Stream>>
      all_streams;  ///< stream 0 too, and those that only finish what they have
  std::map<CudaEvent, std::shared_ptr<Event>> events;
  std::map<CudaPool, std::shared_ptr<Pool>> pools;
  std::map<CudaModule, Module> modules;
  std::map<CudaLibrary, Module> libraries;
  std::map<CudaKernel, std::shared_ptr<Kernel>> kernels;
  std::map<CudaGraph, Graph> graphs;
  std::map<CudaGraphNode, GraphNode> graph_nodes;
  std::map<CudaGraphExec, GraphExec> graph_execs;
  std::vector<std::shared_ptr<Capture>> captures;  ///< that are active
  std::map<std::string, CudaAddress> opened;       ///< handles of other processes
  std::map<std::string, test::CudaDoubleKernel> registered;

  std::vector<CallFailure> call_failures;
  std::map<std::string, uint64_t> calls;
  uint64_t all_calls = 0;
  uint64_t hang_event = 0;  ///< counts down; 0: none
  std::vector<PointPtr> hanging;
  std::atomic<uint64_t> slow_copy_ns = 0;
  bool stepped = false;
  uint32_t threads = 0;
  std::vector<std::string> misuses;
  uint64_t last_handle = 0;

  /// Never used again, and no address that anyone may follow.
  template <class Handle>
  Handle new_handle() noexcept {
    const uint64_t value = 0xd0b1000000000000 + 16 * ++last_handle;
    if constexpr (std::is_pointer_v<Handle>) {
      return reinterpret_cast<Handle>(value);
    } else {
      return value;
    }
  }
  /// What a call begins with once the driver is initialised: is it to fail?
  CudaResult next_failure(const char* function);
  void misuse(std::string text);
  void fail_device(Device& device, CudaResult code);
  /// Counts bytes of the device as used. \return false: it has not so many
  bool use(Device& device, uint64_t bytes) noexcept;

  // streams.cc
  /// Puts work into a stream, after what the stream has to wait for.
  PointPtr enqueue(Stream& stream, Work work, std::vector<PointPtr> after = {});
  /// \return the device's failure, if it has one by then
  CudaResult wait(std::unique_lock<std::mutex>& lock, const PointPtr& point, const Device& device);
  /// For all of a context's streams.
  CudaResult wait_for_all(std::unique_lock<std::mutex>& lock, const Context& context);
  bool step(std::unique_lock<std::mutex>& lock);
  void start_threads();
  std::shared_ptr<Stream> make_stream(Context& context, uint32_t flags);
  void close(Stream& stream);
  /// The streams of a capture are free again.
  void end(std::shared_ptr<Capture> capture);

 private:
  static bool may_run(const Stream& stream) noexcept;
  void start_thread(Stream& stream);
  void forget_closed();
  std::string waiting() const;
  void run_next(std::unique_lock<std::mutex>& lock, Stream& stream);
  void serve(const std::shared_ptr<Stream>& stream);
};

Driver& driver() noexcept;

/// Resets to what a new process has, with the settings of its environment.
void begin(Driver& all);
void start_over();
std::string report(Driver& all);

/// What a call needs, and is.
enum Needs : uint32_t {
  kNothing = 0,
  kInitialised = 1,
  kCurrentContext = 3,
  kGivesBack = 4,    ///< does so even where it is told to fail
  kNotInCapture = 8  ///< a capture that is strict about such calls becomes invalid
};

/// The part of a call under the driver's mutex.
struct Call {
  const char* function = "";
  std::unique_lock<std::mutex> lock;
  Context* context = nullptr;
  CudaResult planned = CudaResult::SUCCESS;  ///< what it is to return, whatever it does

  CudaResult start(uint32_t needs);
  void misuse(const std::string& what) const { driver().misuse(std::string(function) + ": " + what); }
  Device& device() const noexcept { return *context->device; }

  // Null: reported. 0 is stream 0 of the current context.
  std::shared_ptr<Stream> find(CudaStream handle) const;
  std::shared_ptr<Event> find(CudaEvent handle) const;
  /// Does the work, or captures it.
  CudaResult submit(CudaStream handle, Work work, std::vector<PointPtr> after = {});
};

template <class Body>
CudaResult enter(const char* function, uint32_t needs, Body&& body) {
  Call call;
  call.function = function;
  if (const CudaResult result = call.start(needs); result != CudaResult::SUCCESS) return result;
  call.planned = driver().next_failure(function);
  if (call.planned != CudaResult::SUCCESS && (needs & kGivesBack) == 0) return call.planned;
  const CudaResult result = body(call);
  return call.planned == CudaResult::SUCCESS ? result : call.planned;
}

/// The current context of the calling thread; null: none.
CudaContext& current_context() noexcept;
/// Whether the calling thread is in a host function or kernel.
bool& is_in_stream() noexcept;

/// A look-up that reports what is not there.
template <class Map>
auto* find_in(const Call& call, Map& map, typename Map::key_type handle, const char* what) {
  const auto it = map.find(handle);
  if (it != map.end()) return &it->second;
  call.misuse(std::string("there is no such ") + what + ", or no longer");
  return static_cast<decltype(&map.begin()->second)>(nullptr);
}

/// The driver's functions.
namespace api {
#define ATOLL_CUDA_DECLARE(name, version, need, parameters) CudaResult name parameters;
ATOLL_CUDA_SYMBOLS(ATOLL_CUDA_DECLARE)
#undef ATOLL_CUDA_DECLARE
}  // namespace api

}  // namespace atl::cuda_double
