// Allocates device memory, writes its handle to the standard output, and keeps it until the standard input ends.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "memory/cuda/driver_library.h"

namespace {

int fail(std::string_view what) {
  std::fprintf(stderr, "%.*s\n", static_cast<int>(what.size()), what.data());
  return 1;
}

}  // namespace

int main(int count, char** arguments) {
  using namespace atl;
  if (count != 3) return fail("expected the driver's path, and bytes");
  const Result<memory::DriverEntry> entry = memory::open_driver(arguments[1]);
  if (!entry.ok()) return fail(entry.status().message());
  Result<memory::BoundDriver> driver = memory::bind_driver(entry.value());
  if (!driver.ok()) return fail(driver.status().message());
  const CudaDriver& cuda = driver->functions;
  const size_t bytes = std::strtoull(arguments[2], nullptr, 10);
  CudaContext context = nullptr;
  CudaAddress address = 0;
  CudaIpcHandle handle;
  CudaStream stream = nullptr;
  const CudaResult results[] = {cuda.cuDevicePrimaryCtxRetain(&context, 0),
                                cuda.cuCtxSetCurrent(context),
                                cuda.cuStreamCreateWithPriority(&stream, kCudaStreamNonBlocking, 0),
                                cuda.cuMemAlloc(&address, bytes),
                                cuda.cuMemsetD8Async(address, 0, bytes, stream),
                                cuda.cuStreamSynchronize(stream),
                                cuda.cuIpcGetMemHandle(&handle, address)};
  for (const CudaResult result : results) {
    if (result != CudaResult::SUCCESS) return fail(memory::result_text(result));
  }
  if (write(STDOUT_FILENO, handle.bytes, sizeof handle.bytes) != sizeof handle.bytes)
    return fail("cannot write");
  char byte = 0;
  while (read(STDIN_FILENO, &byte, 1) > 0) {
  }
  return 0;
}
