#include "atoll/testing/gpu/nvml_double.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>

namespace atl {

/// For GoogleTest.
inline void PrintTo(NvmlResult result, std::ostream* out) {
  *out << static_cast<int>(result) << " " << nvml_result_name(result);
}

}  // namespace atl

namespace atl::test {
namespace {

using Value = NvmlDoubleValue;

/// A process that has just begun, with these variables.
class NvmlDoubleTest : public ::testing::Test {
 protected:
  NvmlDoubleTest() { control.start_over(); }
  ~NvmlDoubleTest() override {
    for (const std::string& name : set_) unsetenv(name.c_str());
  }
  void set(const std::string& name, const char* value) {
    setenv(name.c_str(), value, 1);
    set_.push_back(name);
  }
  NvmlDevice device(uint32_t index) {
    NvmlDevice found = nullptr;
    EXPECT_EQ(nvml.nvmlDeviceGetHandleByIndex_v2(index, &found), NvmlResult::SUCCESS);
    return found;
  }
  std::string uuid(NvmlDevice device) {
    char text[kNvmlUuidBytes] = {};
    EXPECT_EQ(nvml.nvmlDeviceGetUUID(device, text, sizeof text), NvmlResult::SUCCESS);
    return text;
  }

  const NvmlDouble& control = *nvml_double(ATOLL_NVML_DOUBLE_PATH);
  const Nvml nvml = [] {
    void* library = dlopen(ATOLL_NVML_DOUBLE_PATH, RTLD_NOW | RTLD_LOCAL);
    Nvml found;
#define ATOLL_NVML_FIND(name, parameters) \
  found.name = reinterpret_cast<decltype(found.name)>(dlsym(library, #name));
    ATOLL_NVML_SYMBOLS(ATOLL_NVML_FIND)
#undef ATOLL_NVML_FIND
    return found;
  }();

 private:
  std::vector<std::string> set_;
};

TEST_F(NvmlDoubleTest, HasEveryFunctionOfTheTable) {
#define ATOLL_NVML_EXPECT(name, parameters) EXPECT_NE(nvml.name, nullptr) << #name;
  ATOLL_NVML_SYMBOLS(ATOLL_NVML_EXPECT)
#undef ATOLL_NVML_EXPECT
}

TEST_F(NvmlDoubleTest, ShowsWhatTheEnvironmentAndTheTestSay) {
  set("ATOLL_CUDA_DOUBLE_DEVICES", "2");
  set("ATOLL_CUDA_DOUBLE_MEMORY", "1GiB,2GiB");
  set("ATOLL_NVML_DOUBLE_UTILIZATION", "37,80");
  set("ATOLL_NVML_DOUBLE_MEMORY_USED", "5MiB");
  set("CUDA_VISIBLE_DEVICES", "");
  ASSERT_EQ(nvml.nvmlInit_v2(), NvmlResult::SUCCESS);
  uint32_t count = 0;
  EXPECT_EQ(nvml.nvmlDeviceGetCount_v2(&count), NvmlResult::SUCCESS);
  EXPECT_EQ(count, 2u);
  NvmlUtilization rates;
  EXPECT_EQ(nvml.nvmlDeviceGetUtilizationRates(device(1), &rates), NvmlResult::SUCCESS);
  EXPECT_EQ(rates.gpu, 80u);
  NvmlMemory memory;
  EXPECT_EQ(nvml.nvmlDeviceGetMemoryInfo_v2(device(1), &memory), NvmlResult::SUCCESS);
  EXPECT_EQ(memory.total, 2u << 30);
  EXPECT_EQ(memory.used, 5u << 20);
  EXPECT_EQ(memory.free, (2u << 30) - (5u << 20));
  unsigned long long energy = 0;
  EXPECT_EQ(nvml.nvmlDeviceGetTotalEnergyConsumption(device(0), &energy), NvmlResult::SUCCESS);
  EXPECT_EQ(energy, 1'000'000u);
  control.set(0, Value::kEnergy, 1'000'005);
  EXPECT_EQ(nvml.nvmlDeviceGetTotalEnergyConsumption(device(0), &energy), NvmlResult::SUCCESS);
  EXPECT_EQ(energy, 1'000'005u);
  EXPECT_EQ(nvml.nvmlShutdown(), NvmlResult::SUCCESS);
  EXPECT_EQ(report_of(control), "");
}

TEST_F(NvmlDoubleTest, DevicesAreFoundByAllTheirNames) {
  set("ATOLL_CUDA_DOUBLE_DEVICES", "3");
  ASSERT_EQ(nvml.nvmlInit_v2(), NvmlResult::SUCCESS);
  const NvmlDevice last = device(2);
  NvmlDevice found = nullptr;
  for (const char* pci_id : {"0000:03:00.0", "00000000:03:00.0"}) {
    EXPECT_EQ(nvml.nvmlDeviceGetHandleByPciBusId_v2(pci_id, &found), NvmlResult::SUCCESS);
    EXPECT_EQ(found, last) << pci_id;
  }
  EXPECT_EQ(nvml.nvmlDeviceGetHandleByUUID(uuid(last).c_str(), &found), NvmlResult::SUCCESS);
  EXPECT_EQ(found, last);
  EXPECT_EQ(nvml.nvmlDeviceGetHandleByPciBusId_v2("0000:09:00.0", &found), NvmlResult::NOT_FOUND);
  EXPECT_EQ(nvml.nvmlDeviceGetHandleByIndex_v2(3, &found), NvmlResult::INVALID_ARGUMENT);
  EXPECT_EQ(nvml.nvmlDeviceGetHandleByUUID(("MIG-" + uuid(last).substr(4)).c_str(), &found),
            NvmlResult::NOT_FOUND);
}

TEST_F(NvmlDoubleTest, APartOfAGpuHasMemoryAlone) {
  set("ATOLL_CUDA_DOUBLE_MEMORY", "1GiB");
  set("ATOLL_NVML_DOUBLE_MIG", "1");
  ASSERT_EQ(nvml.nvmlInit_v2(), NvmlResult::SUCCESS);
  NvmlDevice part = nullptr;
  const std::string name = "MIG-" + uuid(device(0)).substr(4);
  ASSERT_EQ(nvml.nvmlDeviceGetHandleByUUID(name.c_str(), &part), NvmlResult::SUCCESS);
  EXPECT_EQ(uuid(part), name);
  NvmlMemory memory;
  EXPECT_EQ(nvml.nvmlDeviceGetMemoryInfo_v2(part, &memory), NvmlResult::SUCCESS);
  EXPECT_EQ(memory.total, 512u << 20);
  EXPECT_EQ(nvml.nvmlDeviceGetMemoryInfo_v2(device(0), &memory), NvmlResult::NO_PERMISSION);
  NvmlUtilization rates;
  EXPECT_EQ(nvml.nvmlDeviceGetUtilizationRates(part, &rates), NvmlResult::NOT_SUPPORTED);
  EXPECT_EQ(nvml.nvmlDeviceGetUtilizationRates(device(0), &rates), NvmlResult::NOT_SUPPORTED);
  uint32_t power = 0;
  EXPECT_EQ(nvml.nvmlDeviceGetPowerUsage(part, &power), NvmlResult::NOT_SUPPORTED);
  EXPECT_EQ(nvml.nvmlDeviceGetPowerUsage(device(0), &power), NvmlResult::SUCCESS);
}

TEST_F(NvmlDoubleTest, CallsFailAsPlanned) {
  set("ATOLL_NVML_DOUBLE_FAIL", "nvmlDeviceGetCount_v2:2:999");
  ASSERT_EQ(nvml.nvmlInit_v2(), NvmlResult::SUCCESS);
  uint32_t count = 0;
  EXPECT_EQ(nvml.nvmlDeviceGetCount_v2(&count), NvmlResult::SUCCESS);
  EXPECT_EQ(nvml.nvmlDeviceGetCount_v2(&count), NvmlResult::UNKNOWN);
  EXPECT_EQ(nvml.nvmlDeviceGetCount_v2(&count), NvmlResult::SUCCESS);
  control.fail_call("*", 0, NvmlResult::TIMEOUT);
  EXPECT_EQ(nvml.nvmlDeviceGetCount_v2(&count), NvmlResult::TIMEOUT);
  EXPECT_EQ(nvml.nvmlDeviceGetCount_v2(&count), NvmlResult::TIMEOUT);
  control.end_failures();
  EXPECT_EQ(nvml.nvmlDeviceGetCount_v2(&count), NvmlResult::SUCCESS);
  control.set(0, Value::kLost, 15);
  char text[kNvmlUuidBytes] = {};
  EXPECT_EQ(nvml.nvmlDeviceGetUUID(device(0), text, sizeof text), NvmlResult::GPU_IS_LOST);
  EXPECT_EQ(control.calls("nvmlDeviceGetCount_v2"), 6u);
}

TEST_F(NvmlDoubleTest, InitialisationFailsAsTheEnvironmentSays) {
  set("ATOLL_NVML_DOUBLE_INIT", "9");
  EXPECT_EQ(nvml.nvmlInit_v2(), NvmlResult::DRIVER_NOT_LOADED);
}

TEST_F(NvmlDoubleTest, MisuseIsInTheReport) {
  uint32_t count = 0;
  EXPECT_EQ(nvml.nvmlDeviceGetCount_v2(&count), NvmlResult::UNINITIALIZED);
  EXPECT_EQ(nvml.nvmlShutdown(), NvmlResult::UNINITIALIZED);
  ASSERT_EQ(nvml.nvmlInit_v2(), NvmlResult::SUCCESS);
  EXPECT_EQ(nvml.nvmlDeviceGetPowerUsage(nullptr, &count), NvmlResult::INVALID_ARGUMENT);
  EXPECT_EQ(report_of(control),
            "nvmlDeviceGetCount_v2 was called without nvmlInit_v2\n"
            "nvmlDeviceGetPowerUsage was called with a handle that is none\n"
            "nvmlShutdown was called without nvmlInit_v2\n"
            "the library was not shut down\n");
  NvmlMemory memory;
  memory.version = 1;
  EXPECT_EQ(nvml.nvmlDeviceGetMemoryInfo_v2(device(0), &memory), NvmlResult::ARGUMENT_VERSION_MISMATCH);
}

TEST_F(NvmlDoubleTest, ACallThatIsHeldWaits) {
  ASSERT_EQ(nvml.nvmlInit_v2(), NvmlResult::SUCCESS);
  control.hold(true);
  uint32_t count = 0;
  std::thread caller([&] { EXPECT_EQ(nvml.nvmlDeviceGetCount_v2(&count), NvmlResult::SUCCESS); });
  while (control.calls("nvmlDeviceGetCount_v2") == 0) std::this_thread::yield();
  EXPECT_EQ(count, 0u);
  control.hold(false);
  caller.join();
  EXPECT_EQ(count, 1u);
}

}  // namespace
}  // namespace atl::test
