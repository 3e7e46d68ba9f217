#include "backends/cuda/code/triton_import.h"

#include <gtest/gtest.h>

#include "backends/cuda/testing/version_folder.h"

namespace atl::cuda_backend {
namespace {

using test::triton_json;

std::string refusal(std::string_view from, std::string_view to) {
  const Result<TritonKernel> kernel = parse_triton_json(triton_json(from, to), "K");
  if (kernel.ok()) return "it was taken";
  EXPECT_EQ(kernel.status().code(), Code::kInvalidArgument);
  return std::string(kernel.status().message());
}

TEST(TritonImport, ReadsWhatALaunchNeeds) {
  test::VersionFolder folder;
  folder.write("K.json", triton_json(R"("global_scratch_size":0)", R"("global_scratch_size":640)"));
  Result<TritonKernel> kernel = read_triton_kernel(folder.path(), "K");
  ASSERT_TRUE(kernel.ok()) << kernel.status().text();
  EXPECT_EQ(kernel->name, "K");
  EXPECT_EQ(kernel->function, "add_kernel");
  EXPECT_EQ(kernel->capability, 90);
  EXPECT_EQ(kernel->threads, 128u);
  EXPECT_EQ(kernel->shared_bytes, 1040u);
  EXPECT_FALSE(kernel->cooperative);
  EXPECT_EQ(kernel->global_scratch_bytes, 640u);
  EXPECT_EQ(kernel->profile_scratch_bytes, 0u);
  EXPECT_EQ(read_triton_kernel(folder.path(), "L").status().code(), Code::kNotFound);
  EXPECT_EQ(read_triton_kernel(folder.path(), "../K").status().code(), Code::kInvalidArgument);
}

TEST(TritonImport, ReadsWhatOlderCompilersWrite) {
  const Result<TritonKernel> kernel = parse_triton_json(
      R"({"target":{"backend":"cuda","arch":80,"warp_size":32},"num_warps":8,"num_ctas":1,"shared":0,"name":"k"})",
      "K");
  ASSERT_TRUE(kernel.ok()) << kernel.status().text();
  EXPECT_EQ(kernel.value().threads, 256u);
}

TEST(TritonImport, RefusesWhatCanNotRunHere) {
  EXPECT_EQ(refusal(R"("num_ctas":1)", R"("num_ctas":2)"),
            "K.json: num_ctas: found 2, expected 1: clusters of blocks are not served");
  EXPECT_EQ(refusal("[1,1,1]", "[2,1,1]"),
            "K.json: cluster_dims: found [2,1,1], expected [1,1,1]: clusters of blocks are not served");
  EXPECT_EQ(
      refusal(R"("tmem_size":0)", R"("tensordesc_meta":[{"swizzle":1}])"),
      R"(K.json: tensordesc_meta: found [{"swizzle":1}], expected none: tensor descriptors are not served)");
  EXPECT_EQ(refusal(R"("tmem_size":0)", R"("tensordesc_meta":[])"), "it was taken");
  EXPECT_NE(refusal(R"("backend":"cuda")", R"("backend":"hip")"), "it was taken");
  EXPECT_NE(refusal(R"("warp_size":32)", R"("warp_size":64)"), "it was taken");
  EXPECT_NE(refusal(R"("arch":90)", R"("arch":"gfx90a")"), "it was taken");
  EXPECT_EQ(refusal(R"("num_warps":4)", R"("num_warps":0)"),
            "K.json: num_warps: found 0, expected a whole number from 1 to 32");
  EXPECT_EQ(refusal(R"("num_warps":4)", R"("num_warps":33)"),
            "K.json: num_warps: found 33, expected a whole number up to 32");
  EXPECT_NE(refusal(R"("shared":1040)", R"("shared":-1)"), "it was taken");
  EXPECT_NE(refusal(R"("global_scratch_align":1)", R"("global_scratch_align":512)"), "it was taken");
  EXPECT_EQ(refusal(R"(,"name":"add_kernel")", ""), "K.json: name: found nothing, expected a string");
  EXPECT_EQ(refusal(R"("name":"add_kernel")", R"("name":"")"), "K.json: name: found an empty string");
}

TEST(TritonImport, RefusesWhatIsNoSuchFile) {
  const auto message = [](std::string_view text) {
    return std::string(parse_triton_json(text, "K").status().message());
  };
  const std::string expected =
      "K.json: found no JSON object, expected what the Triton language's compiler writes";
  EXPECT_EQ(message(""), expected);
  EXPECT_EQ(message("[1]"), expected);
  EXPECT_EQ(message("{\"name\":"), expected);
  EXPECT_EQ(message(std::string(100000, '[')), "K.json: is nested deeper than 64 levels");
}

}  // namespace
}  // namespace atl::cuda_backend
