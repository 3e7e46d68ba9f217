// The kernels of kernels.cu for the driver's test double.
#include <algorithm>
#include <cmath>
#include <vector>

#include "atoll/testing/gpu/cuda_double.h"

namespace atl::test {
namespace {

CudaResult nothing(const CudaDoubleLaunch&) { return CudaResult::SUCCESS; }

CudaResult vector_add(const CudaDoubleLaunch& launch) {
  const auto count = static_cast<size_t>(launch.argument<long long>(3));
  const float* a = launch.array<float>(0, count);
  const float* b = launch.array<float>(1, count);
  float* sum = launch.array<float>(2, count);
  if (a == nullptr || b == nullptr || sum == nullptr) return CudaResult::ILLEGAL_ADDRESS;
  for (size_t i = 0; i < count; ++i) sum[i] = a[i] + b[i];
  return CudaResult::SUCCESS;
}

/// Rows of arguments 0 and 1; a block of the grid each, as long as argument 2 says.
template <class Row>
CudaResult each_row(const CudaDoubleLaunch& launch, Row&& row) {
  const auto columns = static_cast<size_t>(launch.argument<int>(2));
  const float* in = launch.array<float>(0, launch.grid[0] * columns);
  float* out = launch.array<float>(1, launch.grid[0] * columns);
  if (in == nullptr || out == nullptr) return CudaResult::ILLEGAL_ADDRESS;
  for (size_t i = 0; i < launch.grid[0]; ++i) row(in + i * columns, out + i * columns, columns);
  return CudaResult::SUCCESS;
}

CudaResult softmax(const CudaDoubleLaunch& launch) {
  return each_row(launch, [](const float* in, float* out, size_t columns) {
    const float highest = *std::max_element(in, in + columns);
    double sum = 0;
    for (size_t i = 0; i < columns; ++i) sum += out[i] = std::exp(in[i] - highest);
    for (size_t i = 0; i < columns; ++i) out[i] = static_cast<float>(out[i] / sum);
  });
}

CudaResult layer_norm(const CudaDoubleLaunch& launch) {
  const float epsilon = launch.argument<float>(3);
  return each_row(launch, [epsilon](const float* in, float* out, size_t columns) {
    double sum = 0, squares = 0;
    for (size_t i = 0; i < columns; ++i) sum += in[i];
    const double mean = sum / static_cast<double>(columns);
    for (size_t i = 0; i < columns; ++i) squares += (in[i] - mean) * (in[i] - mean);
    const double factor = 1 / std::sqrt(squares / static_cast<double>(columns) + epsilon);
    for (size_t i = 0; i < columns; ++i) out[i] = static_cast<float>((in[i] - mean) * factor);
  });
}

CudaResult matrix_product(const CudaDoubleLaunch& launch) {
  const auto rows = static_cast<size_t>(launch.argument<int>(3));
  const auto inner = static_cast<size_t>(launch.argument<int>(4));
  const auto columns = static_cast<size_t>(launch.argument<int>(5));
  const float* a = launch.array<float>(0, rows * inner);
  const float* w = launch.array<float>(1, inner * columns);
  float* out = launch.array<float>(2, rows * columns);
  if (a == nullptr || w == nullptr || out == nullptr) return CudaResult::ILLEGAL_ADDRESS;
  std::vector<double> sums(columns);
  for (size_t row = 0; row < rows; ++row) {
    std::fill(sums.begin(), sums.end(), 0.0);
    for (size_t i = 0; i < inner; ++i) {
      for (size_t column = 0; column < columns; ++column)
        sums[column] += double{a[row * inner + i]} * w[i * columns + column];
    }
    for (size_t column = 0; column < columns; ++column)
      out[row * columns + column] = static_cast<float>(sums[column]);
  }
  return CudaResult::SUCCESS;
}

}  // namespace
}  // namespace atl::test

extern "C" __attribute__((visibility("default"))) void atoll_cuda_double_kernels(
    const atl::test::CudaDouble& driver) {
  using namespace atl::test;
  driver.register_kernel("nothing", nothing);
  driver.register_kernel("vector_add", vector_add);
  driver.register_kernel("softmax", softmax);
  driver.register_kernel("layer_norm", layer_norm);
  driver.register_kernel("matrix_product", matrix_product);
}
