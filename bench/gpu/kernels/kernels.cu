// Kernels of the models that are measured and checked on GPUs. kernels.ptx is made of this by compile.py.
#define INFINITY_F __int_as_float(0x7f800000)

// Nothing: what a launch costs.
extern "C" __global__ void nothing() {}

// sum = a + b, element by element.
extern "C" __global__ void vector_add(const float* a, const float* b, float* sum, long long count) {
  const long long step = (long long)gridDim.x * blockDim.x;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) sum[i] = a[i] + b[i];
}

// What all threads of a block have, put together. blockDim.x is a power of two, and room has as many floats.
__device__ float block_max(float value, float* room) {
  room[threadIdx.x] = value;
  __syncthreads();
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) room[threadIdx.x] = fmaxf(room[threadIdx.x], room[threadIdx.x + half]);
    __syncthreads();
  }
  const float all = room[0];
  __syncthreads();
  return all;
}
__device__ float block_sum(float value, float* room) {
  room[threadIdx.x] = value;
  __syncthreads();
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) room[threadIdx.x] += room[threadIdx.x + half];
    __syncthreads();
  }
  const float all = room[0];
  __syncthreads();
  return all;
}

// Of each row; a block a row, blockDim.x floats of dynamic shared memory.
extern "C" __global__ void softmax(const float* in, float* out, int columns) {
  extern __shared__ float room[];
  const float* row = in + (long long)blockIdx.x * columns;
  float* to = out + (long long)blockIdx.x * columns;
  float highest = -INFINITY_F;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) highest = fmaxf(highest, row[i]);
  highest = block_max(highest, room);
  float sum = 0;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) sum += expf(row[i] - highest);
  sum = block_sum(sum, room);
  for (int i = threadIdx.x; i < columns; i += blockDim.x) to[i] = expf(row[i] - highest) / sum;
}

// Each row with mean 0 and variance 1; a block a row, blockDim.x floats of dynamic shared memory.
extern "C" __global__ void layer_norm(const float* in, float* out, int columns, float epsilon) {
  extern __shared__ float room[];
  const float* row = in + (long long)blockIdx.x * columns;
  float* to = out + (long long)blockIdx.x * columns;
  float sum = 0;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) sum += row[i];
  const float mean = block_sum(sum, room) / columns;
  float squares = 0;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) squares += (row[i] - mean) * (row[i] - mean);
  const float factor = rsqrtf(block_sum(squares, room) / columns + epsilon);
  for (int i = threadIdx.x; i < columns; i += blockDim.x) to[i] = (row[i] - mean) * factor;
}

// out = a (rows x inner) times w (inner x columns), all row by row. Blocks of 16 x 16 threads, each with its tile of out.
extern "C" __global__ void matrix_product(const float* a, const float* w, float* out, int rows, int inner, int columns) {
  __shared__ float left[16][16];
  __shared__ float right[16][16];
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int from = 0; from < inner; from += 16) {
    const int left_column = from + threadIdx.x, right_row = from + threadIdx.y;
    left[threadIdx.y][threadIdx.x] = row < rows && left_column < inner ? a[(long long)row * inner + left_column] : 0;
    right[threadIdx.y][threadIdx.x] = right_row < inner && column < columns ? w[(long long)right_row * columns + column] : 0;
    __syncthreads();
    for (int i = 0; i < 16; ++i) sum += left[threadIdx.y][i] * right[i][threadIdx.x];
    __syncthreads();
  }
  if (row < rows && column < columns) out[(long long)row * columns + column] = sum;
}
