// Kernels of the tests. kernels.ptx is made of this by compile.py.

// sum[i] = a[i] + b[i]
extern "C" __global__ void add(const float* a, const float* b, float* sum, long long count) {
  const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) sum[i] = a[i] + b[i];
}

// y[i] = factor * x[i]
extern "C" __global__ void scale(const float* x, float* y, float factor, long long count) {
  const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) y[i] = factor * x[i];
}

// All threads of a block get the result. The block is a power of two, and has so many floats of dynamic shared memory.
template <class Combine>
__device__ float reduce(float mine, Combine combine) {
  extern __shared__ float values[];
  values[threadIdx.x] = mine;
#pragma unroll 1
  for (unsigned half = blockDim.x / 2; half != 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) values[threadIdx.x] = combine(values[threadIdx.x], values[threadIdx.x + half]);
  }
  __syncthreads();
  const float result = values[0];
  __syncthreads();
  return result;
}
__device__ float larger(float a, float b) { return a > b ? a : b; }
__device__ float plus(float a, float b) { return a + b; }

// One block a row: y = exp(x - max) / sum.
extern "C" __global__ void softmax(const float* x, float* y, int columns) {
  x += static_cast<long long>(blockIdx.x) * columns;
  y += static_cast<long long>(blockIdx.x) * columns;
  float mine = -3.4e38f;
#pragma unroll 1
  for (int i = threadIdx.x; i < columns; i += blockDim.x) mine = larger(mine, x[i]);
  const float most = reduce(mine, larger);
  mine = 0;
#pragma unroll 1
  for (int i = threadIdx.x; i < columns; i += blockDim.x) mine += __expf(x[i] - most);
  const float sum = reduce(mine, plus);
#pragma unroll 1
  for (int i = threadIdx.x; i < columns; i += blockDim.x) y[i] = __expf(x[i] - most) / sum;
}

// One block a row: y = (x - mean) / sqrt(variance + epsilon) * weight + bias.
extern "C" __global__ void layer_norm(const float* x, const float* weight, const float* bias, float* y, int columns,
                                      float epsilon) {
  x += static_cast<long long>(blockIdx.x) * columns;
  y += static_cast<long long>(blockIdx.x) * columns;
  float mine = 0;
#pragma unroll 1
  for (int i = threadIdx.x; i < columns; i += blockDim.x) mine += x[i];
  const float mean = reduce(mine, plus) / columns;
  mine = 0;
#pragma unroll 1
  for (int i = threadIdx.x; i < columns; i += blockDim.x) mine += (x[i] - mean) * (x[i] - mean);
  const float scale = rsqrtf(reduce(mine, plus) / columns + epsilon);
#pragma unroll 1
  for (int i = threadIdx.x; i < columns; i += blockDim.x) y[i] = (x[i] - mean) * scale * weight[i] + bias[i];
}

// c[rows, columns] = a[rows, inner] * b[inner, columns], in tiles of 16 by 16 threads.
extern "C" __global__ void matmul(const float* a, const float* b, float* c, int rows, int columns, int inner) {
  constexpr int kTile = 16;
  __shared__ float left[kTile][kTile], right[kTile][kTile];
  const long long row = static_cast<long long>(blockIdx.y) * kTile + threadIdx.y;
  const long long column = static_cast<long long>(blockIdx.x) * kTile + threadIdx.x;
  float sum = 0;
#pragma unroll 1
  for (int begin = 0; begin < inner; begin += kTile) {
    const int across = begin + threadIdx.x, down = begin + threadIdx.y;
    left[threadIdx.y][threadIdx.x] = row < rows && across < inner ? a[row * inner + across] : 0;
    right[threadIdx.y][threadIdx.x] = column < columns && down < inner ? b[down * columns + column] : 0;
    __syncthreads();
#pragma unroll 1
    for (int i = 0; i < kTile; ++i) sum += left[threadIdx.y][i] * right[i][threadIdx.x];
    __syncthreads();
  }
  if (row < rows && column < columns) c[row * columns + column] = sum;
}
