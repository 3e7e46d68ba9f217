/// A shared object with a kernel, as ATOLL_CUDA_DOUBLE_KERNELS names it.
#include "atoll/testing/gpu/cuda_double.h"

namespace atl::test {
namespace {

CudaResult twice(const CudaDoubleLaunch& launch) {
  auto* value = launch.array<int32_t>(0, 1);
  if (value == nullptr) return CudaResult::ILLEGAL_ADDRESS;
  *value *= 2;
  return CudaResult::SUCCESS;
}

}  // namespace
}  // namespace atl::test

extern "C" __attribute__((visibility("default"))) void atoll_cuda_double_kernels(
    const atl::test::CudaDouble& made_for) {
  made_for.register_kernel("twice", atl::test::twice);
}
