#include "backends/cuda/execution/pipeline_run.h"

#include <gtest/gtest.h>

#include "atoll/core/text.h"
#include "backends/cuda/testing/version_folder.h"

namespace atl::cuda_backend {
namespace {

/// A pipeline of the test model, X [2, 100], and what comes of it.
class PipelineRuns : public testing::Test {
 protected:
  /// \param steps  what is in front of the two that write Y and Z
  void read(std::string_view steps) {
    Result<Pipeline> made =
        parse_pipeline(cat(steps, "[[step]]\ncopy = 'in:X'\nto = 'out:Y'\n[[step]]\nmemset = 'out:Z'\n"),
                       "pipeline.toml", folder_.path(), model_, make_tensor_table(model_).value());
    ASSERT_TRUE(made.ok()) << made.status().text();
    pipeline_.emplace(std::move(*made));
    extents_.emplace(pipeline_->table);
    set_input(2, 100);
  }
  void set_input(int64_t batch, int64_t columns) {
    extents_->set_batch(batch);
    const int64_t shape[] = {batch, columns};
    ASSERT_TRUE(extents_->set(0, shape).ok());
  }
  Status evaluate_all() {
    ATOLL_RETURN_IF_ERROR(set_output_shapes(*pipeline_, *extents_));
    return evaluate(*pipeline_, *extents_, limits_, run_);
  }
  std::string refusal(std::string_view steps) {
    read(cat(kShape, steps));
    const Status status = pipeline_ ? evaluate_all() : Status();
    EXPECT_TRUE(status.ok() || status.code() == Code::kInvalidArgument);
    return std::string(status.message());
  }
  std::string kernel_refusal(std::string_view lines) {
    std::string message = refusal(cat("[[step]]\nkernel = 'k'\n", lines, "\n"));
    const std::string begin = "pipeline.toml: step 1 (k): ";
    EXPECT_TRUE(message.starts_with(begin)) << message;
    return message.substr(std::min(begin.size(), message.size()));
  }

  static constexpr std::string_view kShape = "[output.Y]\nshape = ['B', 'X.shape[1]']\n";
  test::VersionFolder folder_;
  ModelDescription model_ = test::test_model();
  LaunchLimits limits_;
  std::optional<Pipeline> pipeline_;
  std::optional<BatchExtents> extents_;
  PipelineRun run_;
};

TEST_F(PipelineRuns, HaveAllNumbers) {
  folder_.write("w", "123456");
  read(R"toml(
[scratch.s]
bytes = "X.bytes + 1"
[constant.w]
file = "w"
[output.Y]
shape = ["B", "X.shape[1] / 2"]
[[step]]
kernel = "k"
grid = ["ceil_div(X.count, 128)", "B"]
block = [128, 2]
shared = "B * 16"
args = ["in:X", "constant:w", "i32:-B", "u64:Y.bytes", "param:factor"]
[[step]]
memset = "scratch:s"
offset = 1
value = 7
[[step]]
copy = "constant:w"
to = "scratch:s"
from_offset = 2
to_offset = "B"
)toml");
  ASSERT_TRUE(evaluate_all().ok()) << evaluate_all().text();
  EXPECT_EQ(extents_->shape(1)[1], 50);
  EXPECT_EQ(extents_->shape(2)[0], 2);
  EXPECT_EQ(extents_->shape(2)[1], 4);
  EXPECT_EQ(run_.scratch_bytes, std::vector<uint64_t>{801});
  ASSERT_EQ(run_.steps.size(), 5u);

  const PipelineStepRun& kernel = run_.steps[0];
  EXPECT_FALSE(kernel.skip);
  EXPECT_EQ(kernel.grid[0], 2u);
  EXPECT_EQ(kernel.grid[1], 2u);
  EXPECT_EQ(kernel.grid[2], 1u);
  EXPECT_EQ(kernel.block[1], 2u);
  EXPECT_EQ(kernel.shared_bytes, 32u);
  ASSERT_EQ(kernel.arguments.size(), 5u);
  EXPECT_TRUE(kernel.arguments[1].is_buffer);
  EXPECT_EQ(kernel.arguments[1].buffer, (BufferRef{BufferKind::kConstant, 0}));
  EXPECT_EQ(static_cast<int32_t>(kernel.arguments[2].bits), -2);
  EXPECT_EQ(kernel.arguments[3].bits, 400u);

  EXPECT_EQ(run_.steps[1].to_offset, 1u);
  EXPECT_EQ(run_.steps[1].bytes, 800u) << "to the end";
  EXPECT_EQ(run_.steps[1].value, 7);
  EXPECT_EQ(run_.steps[2].from_offset, 2u);
  EXPECT_EQ(run_.steps[2].to_offset, 2u);
  EXPECT_EQ(run_.steps[2].bytes, 4u) << "of the shorter one";
  EXPECT_EQ(run_.steps[3].bytes, 400u) << "into the shorter one";
}

TEST_F(PipelineRuns, AreFilledAgain) {
  read(cat(
      kShape,
      "[[step]]\nkernel = 'k'\ngrid = ['X.count']\nblock = ['X.shape[1]']\nargs = ['i32:1024 / X.shape[1]']\n"));
  ASSERT_TRUE(evaluate_all().ok());
  const ArgumentValue* arguments = run_.steps[0].arguments.data();
  EXPECT_FALSE(run_.steps[0].skip);
  set_input(4, 0);
  ASSERT_TRUE(evaluate_all().ok()) << "an empty grid: nothing else of the step is looked at";
  EXPECT_TRUE(run_.steps[0].skip);
  EXPECT_TRUE(run_.steps[1].skip) << "nothing to copy";
  EXPECT_FALSE(run_.steps[2].skip);
  set_input(1, 256);
  ASSERT_TRUE(evaluate_all().ok());
  EXPECT_FALSE(run_.steps[0].skip);
  EXPECT_EQ(run_.steps[0].arguments[0].bits, 4u);
  EXPECT_EQ(run_.steps[0].arguments.data(), arguments) << "nothing is allocated";
}

TEST_F(PipelineRuns, KeepToTheLimits) {
  EXPECT_EQ(kernel_refusal("grid = ['X.count * 21474837']\nblock = [1]"),
            "grid[0]: found 4294967400 of 'X.count * 21474837', expected a number from 0 to 2147483647");
  EXPECT_EQ(kernel_refusal("grid = [1, 'X.count * 400']\nblock = [1]"),
            "grid[1]: found 80000 of 'X.count * 400', expected a number from 0 to 65535");
  EXPECT_EQ(kernel_refusal("grid = [1, 1, '-B']\nblock = [1]"),
            "grid[2]: found -2 of '-B', expected a number from 0 to 65535");
  EXPECT_EQ(kernel_refusal("grid = [1]\nblock = ['B - 2']"),
            "block[0]: found 0 of 'B - 2', expected a number from 1 to 1024");
  EXPECT_EQ(kernel_refusal("grid = [1]\nblock = [1, 1, 'B * 33']"),
            "block[2]: found 66 of 'B * 33', expected a number from 1 to 64");
  EXPECT_EQ(kernel_refusal("grid = [1]\nblock = [512, 'B + 1']"),
            "block: found 1536 threads, expected at most 1024");
  EXPECT_EQ(kernel_refusal("grid = [1]\nblock = [1]\nshared = 'B * 24577'"),
            "shared: found 49154 of 'B * 24577', expected a number from 0 to 49152");
  limits_.shared_bytes = 100000;
  EXPECT_EQ(refusal("[[step]]\nkernel = 'k'\ngrid = [1]\nblock = [1]\nshared = 'B * 24577'\n"), "");
  EXPECT_EQ(kernel_refusal("grid = ['1 / (B - 2)']\nblock = [1]"),
            "grid[0]: expression '1 / (B - 2)': division by zero");
}

TEST_F(PipelineRuns, HaveArgumentsThatFit) {
  EXPECT_EQ(
      kernel_refusal("grid = [1]\nblock = [1]\nargs = ['in:X', 'i32:X.count * 21474837']"),
      "args[1]: i32:X.count * 21474837: found 4294967400, expected a number from -2147483648 to 2147483647");
  EXPECT_EQ(kernel_refusal("grid = [1]\nblock = [1]\nargs = ['i64:B % (B - 2)']"),
            "args[0]: expression 'B % (B - 2)': division by zero");
}

TEST_F(PipelineRuns, StayInsideTheirBuffers) {
  EXPECT_EQ(refusal("[[step]]\nmemset = 'out:Y'\nbytes = 'X.bytes + 1'\n"),
            "pipeline.toml: step 1: bytes: found 801, expected at most the 800 that are there");
  EXPECT_EQ(refusal("[[step]]\nmemset = 'out:Y'\noffset = 'X.bytes + 1'\n"),
            "pipeline.toml: step 1: offset: found 801, expected an offset in a buffer of 800 bytes");
  EXPECT_EQ(refusal("[[step]]\nmemset = 'out:Y'\noffset = '-B'\n"),
            "pipeline.toml: step 1: offset: found -2, expected an offset in a buffer of 800 bytes");
  EXPECT_EQ(refusal("[[step]]\ncopy = 'in:X'\nto = 'out:Z'\nfrom_offset = 796\nbytes = 5\n"),
            "pipeline.toml: step 1: bytes: found 5, expected at most the 4 that are there");
  EXPECT_EQ(refusal("[[step]]\ncopy = 'in:X'\nto = 'out:Z'\nto_offset = 9\n"),
            "pipeline.toml: step 1: to_offset: found 9, expected an offset in a buffer of 8 bytes");
  EXPECT_EQ(refusal("[scratch.s]\nbytes = '1 - B'\n"),
            "pipeline.toml: [scratch.s]: bytes: found -1, expected a number from 0 on");
  EXPECT_EQ(refusal("[scratch.s]\nbytes = 'B / (B - 2)'\n"),
            "pipeline.toml: [scratch.s]: bytes: expression 'B / (B - 2)': division by zero");
}

TEST_F(PipelineRuns, HaveOutputsOfTheConfigurationsShape) {
  const auto with_shape = [this](std::string_view shapes) {
    read(shapes);
    return std::string(pipeline_ ? evaluate_all().message() : std::string_view("it was not read"));
  };
  EXPECT_EQ(with_shape("[output.Y]\nshape = ['B + 1', 1]\n"),
            "pipeline.toml: [output.Y]: shape[0]: found 3, expected 2");
  EXPECT_EQ(with_shape("[output.Y]\nshape = ['B', '-B']\n"),
            "pipeline.toml: [output.Y]: shape[1]: found -2, expected a number from 0 on");
  EXPECT_EQ(with_shape("[output.Y]\nshape = ['B', '1 / (B - 2)']\n"),
            "pipeline.toml: [output.Y]: shape[1]: expression '1 / (B - 2)': division by zero");
  EXPECT_EQ(with_shape(cat(kShape, "[output.Z]\nshape = ['B', 'B + 3']\n")),
            "pipeline.toml: [output.Z]: shape[1]: found 5, expected 4");
  EXPECT_EQ(with_shape(cat(kShape, "[output.Z]\nshape = ['B', 'B + 2']\n")), "");
}

TEST_F(PipelineRuns, GiveImportedKernelsScratchMemoryForEachProgram) {
  folder_.write("K.json", test::triton_json(R"("global_scratch_size":0)", R"("global_scratch_size":640)"));
  read(cat(kShape, "[[step]]\nimport = 'triton:K'\ngrid = ['X.shape[1]', 'B']\nargs = ['in:X']\n"));
  ASSERT_TRUE(evaluate_all().ok());
  EXPECT_EQ(run_.scratch_bytes, std::vector<uint64_t>{640 * 100 * 2});
  EXPECT_EQ(run_.steps[0].block[0], 128u);
  ASSERT_EQ(run_.steps[0].arguments.size(), 3u);
  EXPECT_EQ(run_.steps[0].arguments[1].buffer, (BufferRef{BufferKind::kScratch, 0}));
  EXPECT_EQ(run_.steps[0].arguments[2].buffer, BufferRef());
  set_input(2, 0);
  ASSERT_TRUE(evaluate_all().ok());
  EXPECT_EQ(run_.scratch_bytes, std::vector<uint64_t>{0});

  folder_.write("K.json",
                test::triton_json(R"("global_scratch_size":0)", R"("global_scratch_size":1099511627776)"));
  EXPECT_EQ(refusal("[[step]]\nimport = 'triton:K'\ngrid = ['X.count * 10000000', 'B * 10000']\n"),
            "pipeline.toml: step 1 (add_kernel): the scratch memory of all programs leaves 64 bits");
}

}  // namespace
}  // namespace atl::cuda_backend
