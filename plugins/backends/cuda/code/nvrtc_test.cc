#include "backends/cuda/code/nvrtc.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "atoll/core/text.h"

namespace atl::cuda_backend {
namespace {

constexpr const char* kFake = ATOLL_FAKE_NVRTC;

Result<std::string> compiled(const std::string& source, int32_t capability,
                             std::vector<std::string> options = {}) {
  const Result<Nvrtc> nvrtc = Nvrtc::open(kFake);
  if (!nvrtc.ok()) return nvrtc.status().clone();
  return nvrtc.value().compile(source, "kernels.cu", capability, options);
}

TEST(Nvrtc, IsTheFirstThatCanBeOpened) {
  EXPECT_TRUE(Nvrtc::open(kFake).ok());
  EXPECT_TRUE(Nvrtc::open(cat("libnone.so.1, libc.so.6 , ", kFake)).ok());
  const Result<Nvrtc> none = Nvrtc::open("libnone.so.1, libc.so.6");
  EXPECT_EQ(none.status().code(), Code::kFailedPrecondition);
  EXPECT_EQ(
      none.status().message(),
      "CUDA source cannot be compiled without NVRTC (libnone.so.1: cannot open shared object file: No such file or "
      "directory; libc.so.6: has no nvrtcGetErrorString)");
  EXPECT_EQ(Nvrtc::open(" ,").status().message(),
            "CUDA source cannot be compiled without NVRTC (no library is named)");
}

TEST(Nvrtc, CompilesForTheDevice) {
  const Result<std::string> machine = compiled("x\n.version 8.0\n", 90, {"-DN=1"});
  ASSERT_TRUE(machine.ok()) << machine.status().text();
  EXPECT_EQ(machine.value(), "// --gpu-architecture=sm_90 --std=c++17 -DN=1\n.version 8.0\n");
  EXPECT_EQ(compiled(".version", 80, {"--std=c++20"}).value(),
            "// --gpu-architecture=sm_80 --std=c++20\n.version");
}

TEST(Nvrtc, MakesPtxForDevicesThatItDoesNotKnow) {
  EXPECT_EQ(compiled(".version", 120).value(), "// --gpu-architecture=compute_90 --std=c++17\n.version");
  EXPECT_EQ(compiled(".version", 86).value(), "// --gpu-architecture=compute_80 --std=c++17\n.version");
  EXPECT_EQ(compiled(".version", 70).status().message(),
            cat("kernels.cu: ", kFake, " makes no code for compute capability 7.0, expected at least 7.5"));
}

TEST(Nvrtc, SaysAllThatIsWrong) {
  const Result<std::string> source = compiled("#error", 90);
  EXPECT_EQ(source.status().code(), Code::kInvalidArgument);
  EXPECT_EQ(
      source.status().message(),
      cat(kFake,
          ": NVRTC_ERROR_COMPILATION: kernels.cu: kernels.cu(1): catastrophic error: #error directive\n\n1 error "
          "detected in the compilation."));
  EXPECT_EQ(
      compiled("x", 90, {"--unknown"}).status().message(),
      cat(kFake,
          ": NVRTC_ERROR_INVALID_OPTION: kernels.cu: nvrtc: error: unrecognized option --unknown found"));
}

/// With the real one, where ATOLL_TEST_NVRTC names it. It needs no GPU.
TEST(Nvrtc, CompilesTheTestsKernels) {
  const char* library = std::getenv("ATOLL_TEST_NVRTC");
  if (library == nullptr) return;
  const Result<Nvrtc> nvrtc = Nvrtc::open(library);
  ASSERT_TRUE(nvrtc.ok()) << nvrtc.status().text();
  std::stringstream source;
  source << std::ifstream(ATOLL_CUDA_KERNELS "/kernels.cu").rdbuf();
  const Result<std::string> machine = nvrtc.value().compile(source.str(), "kernels.cu", 90, {});
  ASSERT_TRUE(machine.ok()) << machine.status().text();
  EXPECT_TRUE(machine.value().starts_with("\177ELF"));
  const Result<std::string> ptx = nvrtc.value().compile(source.str(), "kernels.cu", 999, {});
  ASSERT_TRUE(ptx.ok()) << ptx.status().text();
  EXPECT_NE(ptx.value().find(".entry softmax("), std::string::npos);
  const Result<std::string> wrong = nvrtc.value().compile("int f() { return g(); }", "k.cu", 90, {});
  EXPECT_NE(wrong.status().message().find("identifier \"g\" is undefined"), std::string_view::npos)
      << wrong.status().text();
}

}  // namespace
}  // namespace atl::cuda_backend
