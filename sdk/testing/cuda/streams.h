/// Streams: operations that are executed in order, behind the calls that asked for them.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "atoll/gpu/cuda_driver.h"

namespace atl::cuda_double {

struct Context;
struct Device;
struct KernelLaunch;

/// A place in a stream that is reached, or not yet. With the driver's mutex held.
struct Point {
  bool done = false;
  bool is_running = false;  ///< what is before it is being executed
  bool hangs = false;
  uint64_t time_ns = 0;  ///< when it was reached
};
using PointPtr = std::shared_ptr<Point>;

/// What a stream does, or a node of a graph. `run` is called without the driver's mutex.
struct Work {
  CudaGraphNodeType type = CudaGraphNodeType::kEmpty;
  std::function<CudaResult()> run;
  std::shared_ptr<const KernelLaunch> launch;  ///< of a kernel; then there is no `run`

  CudaResult execute() const;
};

struct Operation {
  Work work;
  PointPtr point;
  std::vector<PointPtr> after;  ///< of other streams
};

/// Work that becomes a graph instead of being done.
struct Capture {
  CudaCaptureMode mode = CudaCaptureMode::kGlobal;
  CudaStream origin = nullptr;
  Device* device = nullptr;
  std::thread::id thread;
  bool is_invalid = false;
  std::vector<Work> nodes;
};

struct Stream : std::enable_shared_from_this<Stream> {
  CudaStream handle = nullptr;
  Context* context = nullptr;  ///< until the stream is closed
  Device* device = nullptr;
  uint32_t flags = 0;
  std::deque<Operation> queue;
  PointPtr last;            ///< of what came into it last; null: nothing did
  bool is_running = false;  ///< an operation of it is being executed
  bool has_thread = false;
  bool is_closed = false;
  std::shared_ptr<Capture> capture;
  std::set<size_t> covered;  ///< nodes of the capture that come before what is captured next
};

struct Event {
  Context* context = nullptr;
  uint32_t flags = 0;
  PointPtr point;  ///< null: was never recorded
  std::shared_ptr<Capture> capture;
  std::set<size_t> covered;
};

}  // namespace atl::cuda_double
