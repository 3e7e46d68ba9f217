// What a GPU and its driver cost by themselves, through the server's table of the driver's functions: launches, and copies of
// pinned and pageable memory. device_bench PTX [REPETITIONS [DRIVER]] prints one line of JSON. Ends with 3 where there is no GPU.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "atoll/gpu/cuda.h"
#include "atoll/testing/gpu/cuda_double.h"
#include "memory/cuda/driver_library.h"

namespace atl {
namespace {

constexpr int kNoGpu = 3;
constexpr uint64_t kSizes[] = {64 << 10, 1 << 20, 16 << 20, 64 << 20};
constexpr int kLaunches = 1000;
constexpr int kWaits = 200;

void check(const char* call, CudaResult result) {
  if (result != CudaResult::SUCCESS)
    throw std::runtime_error(cat(call, " gave ", memory::result_text(result)));
}
#define CHECK(call) check(#call, call)

double microseconds(const std::function<void()>& body) {
  const auto begin = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
}

double median_of(int count, const std::function<void()>& body) {
  std::vector<double> found;
  for (int i = 0; i < count; ++i) found.push_back(microseconds(body));
  std::nth_element(found.begin(), found.begin() + count / 2, found.end());
  return found[static_cast<size_t>(count / 2)];
}

/// One device, its context and a stream. What is taken goes with the process.
class Gpu {
 public:
  Gpu(const CudaDriver& driver, const std::string& ptx) : driver_(driver) {
    CHECK(driver_.cuDeviceGet(&device_, 0));
    CHECK(driver_.cuDevicePrimaryCtxRetain(&context_, device_));
    CHECK(driver_.cuCtxSetCurrent(context_));
    CHECK(driver_.cuStreamCreateWithPriority(&stream_, kCudaStreamNonBlocking, 0));
    CHECK(driver_.cuModuleLoadDataEx(&module_, ptx.c_str(), 0, nullptr, nullptr));
    CHECK(driver_.cuModuleGetFunction(&nothing_, module_, "nothing"));
    launch();
    synchronize();
  }

  std::string name() const {
    char name[256] = {};
    CHECK(driver_.cuDeviceGetName(name, sizeof name, device_));
    return name;
  }

  /// Until the call returns, with many under way.
  double launch_us() {
    const double all = microseconds([&] {
      for (int i = 0; i < kLaunches; ++i) launch();
    });
    synchronize();
    return all / kLaunches;
  }
  /// Until the kernel is done.
  double launch_and_wait_us() {
    return median_of(kWaits, [&] {
      launch();
      synchronize();
    });
  }
  double graph_and_wait_us() {
    CudaGraph graph = nullptr;
    CudaGraphExec exec = nullptr;
    CudaGraphInstantiate options;
    CHECK(driver_.cuStreamBeginCapture(stream_, CudaCaptureMode::kThreadLocal));
    launch();
    CHECK(driver_.cuStreamEndCapture(stream_, &graph));
    CHECK(driver_.cuGraphInstantiateWithParams(&exec, graph, &options));
    const double found = median_of(kWaits, [&] {
      CHECK(driver_.cuGraphLaunch(exec, stream_));
      synchronize();
    });
    CHECK(driver_.cuGraphExecDestroy(exec));
    CHECK(driver_.cuGraphDestroy(graph));
    return found;
  }

  /// Gigabytes a second, until the bytes are there.
  double copy_rate(CudaAddress to, CudaAddress from, uint64_t bytes) {
    const int count = static_cast<int>(std::clamp<uint64_t>((256 << 20) / bytes, 5, 200));
    const double took = median_of(count, [&] {
      CHECK(driver_.cuMemcpyAsync(to, from, bytes, stream_));
      synchronize();
    });
    return static_cast<double>(bytes) / took / 1000;
  }

  CudaAddress allocate(uint64_t bytes) {
    CudaAddress address = 0;
    CHECK(driver_.cuMemAlloc(&address, bytes));
    CHECK(driver_.cuMemsetD8Async(address, 1, bytes, stream_));
    synchronize();
    return address;
  }
  CudaAddress allocate_pinned(uint64_t bytes) {
    void* memory = nullptr;
    CHECK(driver_.cuMemHostAlloc(&memory, bytes, kCudaHostPortable));
    std::fill_n(static_cast<char*>(memory), bytes, 1);
    return to_address(memory);
  }

 private:
  void launch() { CHECK(driver_.cuLaunchKernel(nothing_, 1, 1, 1, 1, 1, 1, 0, stream_, nullptr, nullptr)); }
  void synchronize() { CHECK(driver_.cuStreamSynchronize(stream_)); }

  const CudaDriver& driver_;
  CudaDevice device_ = 0;
  CudaContext context_ = nullptr;
  CudaStream stream_ = nullptr;
  CudaModule module_ = nullptr;
  CudaFunction nothing_ = nullptr;
};

std::string number_list(const std::vector<double>& values) {
  std::string text;
  for (const double value : values) {
    char one[32];
    std::snprintf(one, sizeof one, "%.3f", value);
    text += cat(text.empty() ? "" : ", ", one);
  }
  return cat("[", text, "]");
}

/// By name, a value for each repetition.
using Found = std::map<std::string, std::vector<double>>;

/// What is copied between.
struct Ends {
  explicit Ends(Gpu& gpu)
      : device(gpu.allocate(kMost)),
        other(gpu.allocate(kMost)),
        pinned(gpu.allocate_pinned(kMost)),
        memory(kMost, 1),
        pageable(to_address(memory.data())) {}

  static constexpr uint64_t kMost = kSizes[std::size(kSizes) - 1];
  CudaAddress device, other, pinned;
  std::vector<char> memory;
  CudaAddress pageable;
};

void measure_copies(Gpu& gpu, const Ends& ends, Found& found) {
  for (const uint64_t size : kSizes) {
    const std::string end = cat(" ", size);
    found["pinned to device" + end].push_back(gpu.copy_rate(ends.device, ends.pinned, size));
    found["device to pinned" + end].push_back(gpu.copy_rate(ends.pinned, ends.device, size));
    found["pageable to device" + end].push_back(gpu.copy_rate(ends.device, ends.pageable, size));
    found["device to pageable" + end].push_back(gpu.copy_rate(ends.pageable, ends.device, size));
    found["device to device" + end].push_back(gpu.copy_rate(ends.other, ends.device, size));
  }
}

int measure(const std::string& ptx_path, int repetitions, const std::string& library) {
  std::ifstream file(ptx_path, std::ios::binary);
  const std::string ptx((std::istreambuf_iterator<char>(file)), {});
  if (ptx.empty()) throw std::runtime_error(cat("cannot read ", ptx_path));
  Result<memory::DriverEntry> entry = memory::open_driver(library);
  Result<memory::BoundDriver> driver = entry.ok() ? memory::bind_driver(*entry) : std::move(entry).status();
  int32_t count = 0;
  if (!driver.ok() || driver->functions.cuDeviceGetCount(&count) != CudaResult::SUCCESS || count == 0) {
    std::fprintf(stderr, "no GPU: %s\n",
                 driver.ok() ? "the driver finds none" : std::string(driver.status().message()).c_str());
    return kNoGpu;
  }
  Gpu gpu(driver->functions, ptx);
  const Ends ends(gpu);
  Found found;
  for (int i = 0; i < repetitions; ++i) {
    found["launch, us"].push_back(gpu.launch_us());
    found["launch and wait, us"].push_back(gpu.launch_and_wait_us());
    found["graph and wait, us"].push_back(gpu.graph_and_wait_us());
    measure_copies(gpu, ends, found);
  }
  const bool is_double = test::cuda_double(library) != nullptr;
  std::printf("{\"double\": %s, \"gpus\": %d, \"name\": \"%s\", \"driver\": \"%s\"",
              is_double ? "true" : "false", count, gpu.name().c_str(),
              memory::version_text(driver->version).c_str());
  for (const auto& [name, values] : found)
    std::printf(", \"%s\": %s", name.c_str(), number_list(values).c_str());
  std::printf("}\n");
  return 0;
}

}  // namespace
}  // namespace atl

int main(int argc, char** argv) {
  if (argc < 2 || argc > 4) {
    std::fprintf(stderr, "usage: device_bench PTX [REPETITIONS [DRIVER]]\n");
    return 2;
  }
  try {
    return atl::measure(argv[1], argc > 2 ? std::max(1, std::atoi(argv[2])) : 5,
                        argc > 3 ? argv[3] : "libcuda.so.1");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
