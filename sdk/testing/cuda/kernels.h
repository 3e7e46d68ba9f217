/// Modules, what is in them, launches and graphs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "atoll/gpu/cuda_driver.h"
#include "ptx.h"
#include "streams.h"

namespace atl::cuda_double {

struct Module {
  PtxModule code;
  std::map<std::string, CudaKernel> kernels;
};

struct Kernel {
  PtxEntry entry;
  uint32_t max_dynamic_shared_bytes = 48 << 10;
  int32_t ptx_version = 0;
  int32_t target = 0;  ///< 10 · major + minor
};

/// One launch, with its arguments as they were.
struct KernelLaunch {
  CudaFunction function = nullptr;
  std::shared_ptr<const Kernel> kernel;
  uint32_t grid[3] = {};
  uint32_t block[3] = {};
  uint32_t shared_bytes = 0;
  std::vector<std::vector<std::byte>> values;
  std::vector<void*> arguments;  ///< pointers to them
};

struct GraphNode {
  Work work;
};

struct Graph {
  std::vector<CudaGraphNode> nodes;
};

/// A copy of a graph. A launch executes all of it as one operation, in the order of the capture.
struct GraphExec {
  std::map<CudaGraphNode, size_t> places;  ///< of the graph's nodes
  std::vector<Work> nodes;
  PointPtr last;  ///< of its last launch: launches of it are done one after another
};

}  // namespace atl::cuda_double
