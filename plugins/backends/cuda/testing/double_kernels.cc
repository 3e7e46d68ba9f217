/// What kernels.cu does, for servers on the driver's test double: a shared object that ATOLL_CUDA_DOUBLE_KERNELS names.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "atoll/testing/gpu/cuda_double.h"

namespace atl::test {
namespace {

CudaResult add(const CudaDoubleLaunch& launch) {
  const auto count = static_cast<size_t>(launch.argument<int64_t>(3));
  const auto *a = launch.array<float>(0, count), *b = launch.array<float>(1, count);
  auto* sum = launch.array<float>(2, count);
  if (a == nullptr || b == nullptr || sum == nullptr) return CudaResult::ILLEGAL_ADDRESS;
  for (size_t i = 0; i < count; ++i) sum[i] = a[i] + b[i];
  return CudaResult::SUCCESS;
}

CudaResult scale(const CudaDoubleLaunch& launch) {
  const auto count = static_cast<size_t>(launch.argument<int64_t>(3));
  const auto* x = launch.array<float>(0, count);
  auto* y = launch.array<float>(1, count);
  if (x == nullptr || y == nullptr) return CudaResult::ILLEGAL_ADDRESS;
  for (size_t i = 0; i < count; ++i) y[i] = launch.argument<float>(2) * x[i];
  return CudaResult::SUCCESS;
}

/// One block a row.
CudaResult softmax(const CudaDoubleLaunch& launch) {
  const size_t columns = launch.argument<uint32_t>(2);
  const auto* x = launch.array<float>(0, launch.grid[0] * columns);
  auto* y = launch.array<float>(1, launch.grid[0] * columns);
  if (x == nullptr || y == nullptr) return CudaResult::ILLEGAL_ADDRESS;
  for (size_t row = 0; row < launch.grid[0]; ++row, x += columns, y += columns) {
    const float most = columns == 0 ? 0 : *std::max_element(x, x + columns);
    float sum = 0;
    for (size_t i = 0; i < columns; ++i) sum += y[i] = std::exp(x[i] - most);
    for (size_t i = 0; i < columns; ++i) y[i] /= sum;
  }
  return CudaResult::SUCCESS;
}

/// One block a row.
CudaResult layer_norm(const CudaDoubleLaunch& launch) {
  const size_t columns = launch.argument<uint32_t>(4);
  const auto* x = launch.array<float>(0, launch.grid[0] * columns);
  const auto *weight = launch.array<float>(1, columns), *bias = launch.array<float>(2, columns);
  auto* y = launch.array<float>(3, launch.grid[0] * columns);
  if (x == nullptr || weight == nullptr || bias == nullptr || y == nullptr)
    return CudaResult::ILLEGAL_ADDRESS;
  for (size_t row = 0; row < launch.grid[0]; ++row, x += columns, y += columns) {
    float mean = 0, variance = 0;
    for (size_t i = 0; i < columns; ++i) mean += x[i] / static_cast<float>(columns);
    for (size_t i = 0; i < columns; ++i)
      variance += (x[i] - mean) * (x[i] - mean) / static_cast<float>(columns);
    const float factor = 1 / std::sqrt(variance + launch.argument<float>(5));
    for (size_t i = 0; i < columns; ++i) y[i] = (x[i] - mean) * factor * weight[i] + bias[i];
  }
  return CudaResult::SUCCESS;
}

CudaResult matmul(const CudaDoubleLaunch& launch) {
  const size_t rows = launch.argument<uint32_t>(3), columns = launch.argument<uint32_t>(4),
               inner = launch.argument<uint32_t>(5);
  const auto *a = launch.array<float>(0, rows * inner), *b = launch.array<float>(1, inner * columns);
  auto* c = launch.array<float>(2, rows * columns);
  if (a == nullptr || b == nullptr || c == nullptr) return CudaResult::ILLEGAL_ADDRESS;
  for (size_t row = 0; row < rows; ++row) {
    for (size_t column = 0; column < columns; ++column) {
      float sum = 0;
      for (size_t i = 0; i < inner; ++i) sum += a[row * inner + i] * b[i * columns + column];
      c[row * columns + column] = sum;
    }
  }
  return CudaResult::SUCCESS;
}

}  // namespace
}  // namespace atl::test

extern "C" __attribute__((visibility("default"))) void atoll_cuda_double_kernels(
    const atl::test::CudaDouble& made_for) {
  made_for.register_kernel("add", atl::test::add);
  made_for.register_kernel("scale", atl::test::scale);
  made_for.register_kernel("softmax", atl::test::softmax);
  made_for.register_kernel("layer_norm", atl::test::layer_norm);
  made_for.register_kernel("matmul", atl::test::matmul);
}
