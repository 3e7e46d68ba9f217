/// Launches of kernels.
#include <algorithm>
#include <cstring>

#include "driver.h"
#include "launch.h"
#include "make_launch.h"

namespace atl::cuda_double {
namespace {

bool is_grid_allowed(const uint32_t (&grid)[3], const uint32_t (&block)[3]) {
  constexpr uint32_t kMostX = INT32_MAX;
  constexpr uint32_t kMost = 65535;
  constexpr uint64_t kThreads = 1024;
  constexpr uint32_t kMostBlockZ = 64;
  for (int i = 0; i < 3; ++i) {
    if (grid[i] == 0 || block[i] == 0 || grid[i] > (i == 0 ? kMostX : kMost) || block[i] > kThreads)
      return false;
  }
  return block[2] <= kMostBlockZ && uint64_t{block[0]} * block[1] * block[2] <= kThreads;
}

CudaResult launch(Call& call, const CudaLaunch& wanted, CudaFunction function, void** arguments,
                  void** extra) {
  std::shared_ptr<KernelLaunch> made;
  const CudaKernelNode node = {.function = function,
                               .grid = {wanted.grid[0], wanted.grid[1], wanted.grid[2]},
                               .block = {wanted.block[0], wanted.block[1], wanted.block[2]},
                               .shared_bytes = wanted.shared_bytes,
                               .arguments = arguments,
                               .extra = extra};
  const CudaResult result = make_launch(call, node, made);
  if (result != CudaResult::SUCCESS) return result;
  return call.submit(wanted.stream, {CudaGraphNodeType::kKernel, {}, std::move(made)});
}

}  // namespace

CudaResult make_launch(const Call& call, const CudaKernelNode& node, std::shared_ptr<KernelLaunch>& made) {
  const CudaFunction function =
      node.function != nullptr ? node.function : reinterpret_cast<CudaFunction>(node.kernel);
  auto* kernel = find_in(call, driver().kernels, reinterpret_cast<CudaKernel>(function), "kernel");
  if (kernel == nullptr) return CudaResult::INVALID_HANDLE;
  if (!driver().registered.contains((*kernel)->entry.name)) {
    call.misuse("no function is registered for the kernel " + (*kernel)->entry.name);
    return CudaResult::NOT_SUPPORTED;
  }
  if (node.extra != nullptr) return CudaResult::NOT_SUPPORTED;
  if (!is_grid_allowed(node.grid, node.block) || node.shared_bytes > (*kernel)->max_dynamic_shared_bytes)
    return CudaResult::INVALID_VALUE;
  const std::vector<PtxParameter>& parameters = (*kernel)->entry.parameters;
  if (!parameters.empty() && node.arguments == nullptr) return CudaResult::INVALID_VALUE;
  made = std::make_shared<KernelLaunch>();
  made->function = function;
  made->kernel = *kernel;
  std::copy_n(node.grid, 3, made->grid);
  std::copy_n(node.block, 3, made->block);
  made->shared_bytes = node.shared_bytes;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const auto* value = static_cast<const std::byte*>(node.arguments[i]);
    made->values.emplace_back(value, value + parameters[i].bytes);
  }
  for (std::vector<std::byte>& value : made->values) made->arguments.push_back(value.data());
  return CudaResult::SUCCESS;
}

void* kernel_memory(CudaAddress address, size_t bytes) {
  Memory& memory = driver().memory;
  std::lock_guard lock(driver().mutex);
  if (memory.space.contains(address)) return memory.device_bytes(address, bytes);
  return memory.is_pinned(address, bytes) ? reinterpret_cast<void*>(address) : nullptr;
}

CudaResult run_kernel(const KernelLaunch& launch) {
  test::CudaDoubleKernel kernel = nullptr;
  {
    std::lock_guard lock(driver().mutex);
    kernel = driver().registered.at(launch.kernel->entry.name);
  }
  test::CudaDoubleLaunch given = {};
  std::copy_n(launch.grid, 3, given.grid);
  std::copy_n(launch.block, 3, given.block);
  given.shared_bytes = launch.shared_bytes;
  given.argument_count = static_cast<uint32_t>(launch.arguments.size());
  given.arguments = launch.arguments.data();
  given.memory = kernel_memory;
  return kernel(given);
}

namespace api {

CudaResult cuLaunchKernel(CudaFunction function, uint32_t grid_x, uint32_t grid_y, uint32_t grid_z,
                          uint32_t block_x, uint32_t block_y, uint32_t block_z, uint32_t shared_bytes,
                          CudaStream stream, void** arguments, void** extra) {
  return enter(__func__, kCurrentContext, [&](Call& call) {
    const CudaLaunch wanted = {.grid = {grid_x, grid_y, grid_z},
                               .block = {block_x, block_y, block_z},
                               .shared_bytes = shared_bytes,
                               .stream = stream};
    return launch(call, wanted, function, arguments, extra);
  });
}

CudaResult cuLaunchKernelEx(const CudaLaunch* wanted, CudaFunction function, void** arguments, void** extra) {
  return enter(__func__, kCurrentContext,
               [&](Call& call) { return launch(call, *wanted, function, arguments, extra); });
}

}  // namespace api
}  // namespace atl::cuda_double
