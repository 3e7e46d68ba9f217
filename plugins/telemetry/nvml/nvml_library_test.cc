#include "telemetry/nvml/nvml_library.h"

#include "telemetry/nvml/testing/double.h"

namespace atl::telemetry {
namespace {

using test::NvmlLibrary;

TEST(NvmlLibraryFile, IsFoundByItsPath) {
  Result<Nvml> nvml = open_nvml(NvmlLibrary::kPath);
  ASSERT_TRUE(nvml.ok()) << nvml.status().message();
#define ATOLL_NVML_EXPECT(name, parameters) EXPECT_NE(nvml->name, nullptr) << #name;
  ATOLL_NVML_SYMBOLS(ATOLL_NVML_EXPECT)
#undef ATOLL_NVML_EXPECT
}

TEST(NvmlLibraryFile, ThatIsNotThere) {
  Result<Nvml> nvml = open_nvml("/nowhere/libnvidia-ml.so.1");
  EXPECT_EQ(nvml.status().code(), Code::kUnavailable);
  EXPECT_EQ(
      nvml.status().message(),
      "there is no NVML: /nowhere/libnvidia-ml.so.1: cannot open shared object file: No such file or directory");
}

TEST(NvmlLibraryFile, ThatIsSomethingElse) {
  Result<Nvml> nvml = open_nvml("libm.so.6");
  EXPECT_EQ(nvml.status().code(), Code::kUnavailable);
  EXPECT_EQ(
      nvml.status().message(),
      "NVML cannot be used: libm.so.6 is none, it lacks nvmlInit_v2, nvmlShutdown or nvmlDeviceGetUUID");
}

TEST(NvmlResultText, HasNameAndNumber) {
  EXPECT_EQ(nvml_result_text(NvmlResult::GPU_IS_LOST), "NVML_ERROR_GPU_IS_LOST (15)");
  EXPECT_EQ(nvml_result_text(static_cast<NvmlResult>(77)), "error 77");
}

}  // namespace
}  // namespace atl::telemetry
