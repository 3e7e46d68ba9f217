#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "atoll/core/text.h"
#include "backends/cuda/code/code.h"
#include "backends/cuda/testing/code_device.h"
#include "backends/cuda/testing/version_folder.h"

namespace atl::cuda_backend {
namespace {

using test::CodeDevice;
using test::CudaDouble;

std::string kernels_ptx() {
  std::stringstream text;
  text << std::ifstream(ATOLL_CUDA_KERNELS "/kernels.ptx").rdbuf();
  return text.str();
}
/// The same with other words in it.
std::string kernels_ptx(std::string_view from, std::string_view to) {
  std::string text = kernels_ptx();
  const size_t at = text.find(from);
  if (at == std::string::npos) {
    ADD_FAILURE() << from;
    return text;
  }
  return text.replace(at, from.size(), to);
}

/// One step that reads X and writes Y, of a folder that holds the kernels.
class DeviceCodes : public testing::Test {
 protected:
  DeviceCodes() { folder_.write("kernels.ptx", kernels_ptx()); }

  Result<DeviceCode> load(CodeDevice& device, std::string_view text, CodeNames names = {}) {
    model_.outputs.resize(1);
    Result<Pipeline> made =
        parse_pipeline(cat("[output.Y]\nshape = ['B', 'X.shape[1]']\n", text), "pipeline.toml",
                       folder_.path(), model_, make_tensor_table(model_).value());
    if (!made.ok()) return std::move(made).status();
    return DeviceCode::load(device, 0, *made, {folder_.path(), std::move(names), nvrtc_});
  }
  std::string refusal(CodeDevice& device, std::string_view text) {
    const Result<DeviceCode> code = load(device, text);
    return code.ok() ? "it was taken" : std::string(code.status().message());
  }
  static std::string step(std::string_view kernel, std::string_view arguments, std::string_view more = "") {
    return cat("[[step]]\nkernel = '", kernel, "'\ngrid = ['B']\nblock = [128]\nargs = [", arguments, "]\n",
               more, "\n");
  }

  static constexpr std::string_view kScale = "'in:X', 'out:Y', 'param:factor', 'i64:X.count'";
  test::VersionFolder folder_;
  ModelDescription model_ = test::test_model();
  std::string nvrtc_;
};

TEST_F(DeviceCodes, HaveAFunctionForEachStep) {
  CodeDevice device;
  Result<DeviceCode> code =
      load(device, cat(step("scale", kScale), "[[step]]\nmemset = 'out:Y'\n",
                       step("softmax", "'in:X', 'out:Y', 'i32:4'"), step("scale", kScale)));
  ASSERT_TRUE(code.ok()) << code.status().text();
  EXPECT_NE(code->function(0), nullptr);
  EXPECT_EQ(code->function(1), nullptr);
  EXPECT_NE(code->function(2), nullptr);
  EXPECT_NE(code->function(0), code->function(2));
  EXPECT_EQ(code->function(0), code->function(3));
  EXPECT_EQ(code->file(), "kernels.ptx");
  EXPECT_EQ(code->limits().shared_bytes, 227u * 1024);
  EXPECT_EQ(code->limits().grid[0], 2147483647u);
  const DeviceCode moved = std::move(*code);
  EXPECT_NE(moved.function(0), nullptr);
}

TEST_F(DeviceCodes, NameTheKernelsThatThereAre) {
  CodeDevice device;
  EXPECT_EQ(
      refusal(device, step("Scale", kScale)),
      "pipeline.toml: step 1 (Scale): 'kernels.ptx': found no kernel 'Scale', expected one of add, layer_norm, matmul, "
      "scale, softmax; those of C++ need extern \"C\"");
  device.functions().cuKernelGetName = nullptr;
  EXPECT_EQ(
      refusal(device, step("Scale", kScale)),
      "pipeline.toml: step 1 (Scale): 'kernels.ptx': found no kernel 'Scale'; those of C++ need extern \"C\"");
}

TEST_F(DeviceCodes, FitTheirArguments) {
  CodeDevice device;
  EXPECT_EQ(
      refusal(device, step("scale", "'in:X', 'out:Y', 'f32:1'")),
      "pipeline.toml: step 1 (scale): args: found 3 arguments, expected 4 for the kernel's 4 parameters");
  EXPECT_EQ(
      refusal(device, step("scale", "'in:X', 'out:Y', 'f32:1', 'i64:1', 'null'")),
      "pipeline.toml: step 1 (scale): args: found 5 arguments, expected 4 for the kernel's 4 parameters");
  EXPECT_EQ(
      refusal(device, step("scale", "'in:X', 'out:Y', 'f64:1', 'i64:1'")),
      "pipeline.toml: step 1 (scale): args[2]: found 'f64:1' of 8 bytes, expected 4 for the kernel's parameter");
  EXPECT_EQ(
      refusal(device, step("scale", "'in:X', 'out:Y', 'in:X', 'i64:1'")),
      "pipeline.toml: step 1 (scale): args[2]: found 'in:X' of 8 bytes, expected 4 for the kernel's parameter");
  device.functions().cuKernelGetParamInfo = nullptr;
  EXPECT_EQ(refusal(device, step("scale", "'out:Y'")), "it was taken") << "an older driver does not tell";
}

TEST_F(DeviceCodes, MayUseMoreSharedMemory) {
  CodeDevice device;
  const std::string most = cat("shared = ", 227 * 1024), more = cat("shared = ", 227 * 1024 + 1);
  const CudaDouble& scripted = CodeDevice::scripted();
  EXPECT_EQ(refusal(device, step("scale", kScale, "shared = 49152")), "it was taken");
  EXPECT_EQ(scripted.calls("cuKernelSetAttribute"), 0u);
  EXPECT_EQ(refusal(device, step("scale", kScale, most)), "it was taken");
  EXPECT_EQ(scripted.calls("cuKernelSetAttribute"), 1u);
  EXPECT_EQ(refusal(device, step("scale", kScale, "shared = 'B * 4'")), "it was taken");
  EXPECT_EQ(scripted.calls("cuKernelSetAttribute"), 2u) << "nobody knows how much it will be";
  EXPECT_EQ(
      refusal(device, step("scale", kScale, more)),
      "pipeline.toml: step 1 (scale): shared: found 232449 bytes, expected at most the 232448 that the GPU has beside "
      "the kernel's own");
  EXPECT_EQ(
      refusal(device, step("scale", kScale, "cooperative = true")),
      "pipeline.toml: step 1 (scale): cooperative: found true, expected false: the GPU cannot launch all blocks "
      "together");
}

TEST_F(DeviceCodes, SayWhyTheDriverRefuses) {
  CodeDevice device("8.6", "12080");
  EXPECT_EQ(refusal(device, step("scale", kScale)), "it was taken");
  folder_.write("kernels.ptx", kernels_ptx(".version 8.8", ".version 9.0"));
  EXPECT_EQ(
      refusal(device, step("scale", kScale)),
      "'kernels.ptx': its PTX is of a newer CUDA than the driver knows: install a newer driver, or compile with an older "
      "toolkit, or to a cubin (GPU 0: cuLibraryLoadData gave UNSUPPORTED_PTX_VERSION): ptxas fatal   : Unsupported "
      ".version 9.0");
  folder_.write("kernels.ptx", kernels_ptx(".target sm_75", ".target sm_90"));
  EXPECT_EQ(
      refusal(device, step("scale", kScale)),
      "'kernels.ptx': it has no code for this GPU (GPU 0: cuLibraryLoadData gave NO_BINARY_FOR_GPU): ptxas fatal   : ");
  folder_.write("kernels.ptx", kernels_ptx(".target sm_75", ".target 75"));
  EXPECT_EQ(
      refusal(device, step("scale", kScale)),
      "'kernels.ptx': its PTX does not compile (GPU 0: cuLibraryLoadData gave INVALID_PTX): ptxas fatal   : .target is "
      "none");
  folder_.write("kernels.ptx", kernels_ptx());
  CodeDevice::scripted().fail_call("cuLibraryLoadData", 1, CudaResult::JIT_COMPILER_NOT_FOUND);
  EXPECT_EQ(
      refusal(device, step("scale", kScale)),
      "'kernels.ptx': PTX cannot be compiled, the driver's compiler is not installed (GPU 0: cuLibraryLoadData gave "
      "JIT_COMPILER_NOT_FOUND)");
  CodeDevice::scripted().fail_call("cuKernelGetFunction", 1, CudaResult::INVALID_PTX);
  EXPECT_EQ(
      refusal(device, step("scale", kScale)),
      "pipeline.toml: step 1 (scale): 'kernels.ptx': its PTX does not compile (GPU 0: cuKernelGetFunction gave "
      "INVALID_PTX)")
      << "where code is loaded when it is needed";
}

TEST_F(DeviceCodes, GiveEverythingBackWhateverFails) {
  CodeDevice device;
  const CudaDouble& scripted = CodeDevice::scripted();
  const std::string text = step("scale", kScale, cat("shared = ", 100 * 1024));
  const uint64_t before = scripted.calls("*");
  EXPECT_EQ(refusal(device, text), "it was taken");
  const uint64_t calls = scripted.calls("*") - before;
  ASSERT_GT(calls, 10u);
  for (uint64_t n = 1; n < calls; ++n) {  // the last one gives the code back
    scripted.fail_call("*", n, CudaResult::OUT_OF_MEMORY);
    const Result<DeviceCode> code = load(device, text);
    EXPECT_EQ(code.status().code(), Code::kResourceExhausted) << n;
    scripted.end_failures();
  }
  device.lose();
  EXPECT_EQ(load(device, text).status().code(), Code::kUnavailable);
  device.find_again();
  EXPECT_EQ(refusal(device, text), "it was taken");
}

TEST_F(DeviceCodes, AreOfTheFileThatTheConfigurationNames) {
  CodeDevice device;
  folder_.write("other.ptx", kernels_ptx());
  const Result<DeviceCode> code = load(device, step("scale", kScale), {"", {{"9.0", "other.ptx"}}});
  ASSERT_TRUE(code.ok()) << code.status().text();
  EXPECT_EQ(code.value().file(), "other.ptx");
  EXPECT_EQ(load(device, step("scale", kScale), {"none.ptx", {}}).status().code(), Code::kNotFound);
}

TEST_F(DeviceCodes, AreImportedWithTheirHiddenParameters) {
  CodeDevice device;
  const std::string text = "[[step]]\nimport = 'triton:K'\ngrid = [1]\nargs = ['in:X', 'out:Y']\n";
  const auto write = [this](int parameters, std::string_view change_from = "",
                            std::string_view change_to = "") {
    std::string ptx = ".version 8.0\n.target sm_90a\n.visible .entry add_kernel(";
    for (int i = 0; i < parameters; ++i) ptx += cat(i == 0 ? "" : ", ", ".param .u64 p", i);
    folder_.write("K.ptx", ptx + ")\n{ ret; }\n");
    folder_.write("K.json", test::triton_json(change_from, change_to));
  };
  for (const int parameters : {2, 3, 4}) {
    write(parameters);
    const Result<DeviceCode> code = load(device, text);
    ASSERT_TRUE(code.ok()) << code.status().text();
    EXPECT_NE(code.value().function(0), nullptr);
    EXPECT_EQ(code.value().file(), "") << "there is no code but the import's";
  }
  write(1);
  EXPECT_EQ(
      refusal(device, text),
      "pipeline.toml: step 1 (add_kernel): args: found 2 arguments, expected 0 to 1 for the kernel's 1 parameters");
  write(5);
  EXPECT_EQ(
      refusal(device, text),
      "pipeline.toml: step 1 (add_kernel): args: found 2 arguments, expected 3 to 5 for the kernel's 5 parameters");
  write(2, R"("global_scratch_size":0)", R"("global_scratch_size":8)");
  EXPECT_NE(refusal(device, text), "it was taken") << "it wants memory and takes none";
  write(3, R"("global_scratch_size":0)", R"("global_scratch_size":8)");
  EXPECT_EQ(refusal(device, text), "it was taken");
  write(3, R"("profile_scratch_size":0)", R"("profile_scratch_size":8)");
  EXPECT_NE(refusal(device, text), "it was taken") << "it wants memory by its last parameter";
  write(4, R"("name":"add_kernel")", R"("name":"other")");
  EXPECT_NE(refusal(device, text).find("found no kernel 'other', expected one of add_kernel"),
            std::string::npos);
}

TEST_F(DeviceCodes, AreCompiledOfSource) {
  CodeDevice device;
  folder_.write("mine.cu", cat("// nothing\n", kernels_ptx()));
  nvrtc_ = ATOLL_FAKE_NVRTC;
  const Result<DeviceCode> code = load(device, step("scale", kScale), {"mine.cu", {}});
  ASSERT_TRUE(code.ok()) << code.status().text();
  EXPECT_EQ(code.value().file(), "mine.cu");
  folder_.write("mine.cu", "#error");
  const Result<DeviceCode> wrong = load(device, step("scale", kScale), {"mine.cu", {}});
  EXPECT_NE(wrong.status().message().find("mine.cu(1): catastrophic error"), std::string_view::npos)
      << wrong.status().text();
  nvrtc_ = "libnone.so";
  const Result<DeviceCode> none = load(device, step("scale", kScale), {"mine.cu", {}});
  EXPECT_EQ(none.status().code(), Code::kFailedPrecondition);
  EXPECT_TRUE(none.status().message().starts_with(
      "'mine.cu': CUDA source cannot be compiled without NVRTC (libnone.so:"))
      << none.status().text();
}

TEST_F(DeviceCodes, RunTheExampleOfTheReadme) {
  std::stringstream readme;
  readme << std::ifstream(ATOLL_CUDA_README).rdbuf();
  const std::string text = readme.str();
  const size_t begin = text.find("```toml\n"), end = text.find("```\n", begin + 1);
  ASSERT_NE(end, std::string::npos);
  folder_.write("weight.bin", "1234");
  folder_.write("bias.bin", "1234");
  model_.parameters["epsilon"] = "1e-5";
  model_.outputs.resize(1);
  Result<Pipeline> made =
      parse_pipeline(std::string_view(text).substr(begin + 8, end - begin - 8), "pipeline.toml",
                     folder_.path(), model_, make_tensor_table(model_).value());
  ASSERT_TRUE(made.ok()) << made.status().text();
  CodeDevice device;
  const Result<DeviceCode> code = DeviceCode::load(device, 0, *made, {folder_.path(), {}, {}});
  ASSERT_TRUE(code.ok()) << code.status().text();
}

}  // namespace
}  // namespace atl::cuda_backend
