#include "backends/cuda/pipeline/pipeline.h"

#include <gtest/gtest.h>

#include <bit>

#include "atoll/core/text.h"
#include "backends/cuda/testing/version_folder.h"

namespace atl::cuda_backend {
namespace {

/// [output.Y] and a step that writes Z, so that a test says only what it is about.
constexpr std::string_view kShape = "[output.Y]\nshape = ['B', 'X.shape[1]']\n";
constexpr std::string_view kZ = "[[step]]\nmemset = 'out:Z'\n";

class Pipelines : public testing::Test {
 protected:
  Result<Pipeline> parse(std::string_view text) {
    return parse_pipeline(text, "pipeline.toml", folder_.path(), model_, make_tensor_table(model_).value());
  }
  std::string placed_refusal(std::string_view text) {
    const Result<Pipeline> made = parse(text);
    return made.ok() ? "it was taken" : std::string(made.status().message());
  }
  /// Without the line and the column, which SayWhere tests.
  std::string refusal(std::string_view text) {
    std::string message = placed_refusal(text);
    const std::string file = "pipeline.toml";
    if (message.starts_with(file + ":")) {
      const size_t end = message.find_first_not_of(":0123456789", file.size());
      message.replace(file.size(), std::min(end, message.size()) - file.size(), ":");
    }
    // The folder's name is another one each time.
    if (const size_t at = message.find(folder_.path()); at != std::string::npos)
      message.replace(at, folder_.path().size(), "1");
    return message;
  }
  /// Of a kernel step with these lines.
  std::string step_refusal(std::string_view lines) {
    std::string message = refusal(cat(kShape, kZ, "[[step]]\n", lines));
    const std::string begin = "pipeline.toml: step 2";
    EXPECT_TRUE(message.starts_with(begin)) << message;
    return message.substr(std::min(begin.size(), message.size()));
  }
  std::string argument_refusal(std::string_view argument) {
    std::string message =
        step_refusal(cat("kernel = 'k'\ngrid = [1]\nblock = [1]\nargs = ['out:Y', \"", argument, "\"]\n"));
    const std::string begin = " (k): args[1]: ";
    EXPECT_TRUE(message.starts_with(begin)) << message;
    return message.substr(std::min(begin.size(), message.size()));
  }

  test::VersionFolder folder_;
  ModelDescription model_ = test::test_model();
};

TEST_F(Pipelines, AreReadWithAllThatTheyHave) {
  folder_.write("weights/w.bin", "12345678");
  folder_.write("K.json", test::triton_json(R"("profile_scratch_size":0)", R"("profile_scratch_size":16)"));
  folder_.write("pipeline.toml", R"toml(
pad_batch = true
nvrtc_options = ["--use_fast_math", "-DN=4"]
[scratch.half-way]
bytes = "X.bytes * 2"
[constant.w]
file = "weights/w.bin"
[output.Y]
shape = ["B", "X.shape[1] / 2"]
[[step]]
kernel = "scale"
grid = ["ceil_div(X.count, 256)", 2]
block = [256]
shared = "4 * 256"
cooperative = true
args = ["in:X", "out:Y", "scratch:half-way", "constant:w", "i32:B * 2", "u32:7", "i64:-1", "u64:X.count",
        "f32:0.5", "f64:-1e300", "param:factor", "param:i32:rows", "null"]
[[step]]
memset = "out:Z"
value = 255
offset = "B"
bytes = 4
[[step]]
copy = "in:X"
to = "scratch:half-way"
from_offset = 4
to_offset = "X.bytes"
[[step]]
import = "triton:K"
grid = ["B"]
args = ["in:X"]
)toml");
  Result<Pipeline> read = read_pipeline(folder_.path(), model_, make_tensor_table(model_).value());
  ASSERT_TRUE(read.ok()) << read.status().text();
  const Pipeline& made = *read;
  EXPECT_TRUE(made.pad_batch);
  EXPECT_TRUE(made.needs_code());
  EXPECT_EQ(made.nvrtc_options, (std::vector<std::string>{"--use_fast_math", "-DN=4"}));
  ASSERT_EQ(made.constants.size(), 1u);
  EXPECT_EQ(made.constants[0].path, folder_.path() + "/weights/w.bin");
  EXPECT_EQ(made.constants[0].size_bytes, 8u);
  EXPECT_EQ(made.output_shapes[1][1].text(), "X.shape[1] / 2");
  EXPECT_TRUE(made.output_shapes[2].empty());
  ASSERT_EQ(made.steps.size(), 4u);

  const PipelineStep& kernel = made.steps[0];
  EXPECT_EQ(kernel.kernel, "scale");
  EXPECT_EQ(kernel.grid[1].text(), "2");
  EXPECT_EQ(kernel.grid[2].text(), "1");
  EXPECT_TRUE(kernel.cooperative);
  ASSERT_EQ(kernel.arguments.size(), 13u);
  const auto argument = [&](size_t i) -> const Argument& { return kernel.arguments[i]; };
  EXPECT_EQ(argument(0).buffer, (BufferRef{BufferKind::kTensor, 0}));
  EXPECT_EQ(argument(1).buffer, (BufferRef{BufferKind::kTensor, 1}));
  EXPECT_EQ(argument(2).buffer, (BufferRef{BufferKind::kScratch, 0}));
  EXPECT_EQ(argument(3).buffer, (BufferRef{BufferKind::kConstant, 0}));
  EXPECT_EQ(argument(4).expression->text(), "B * 2");
  EXPECT_EQ(argument(6).size_bytes(), 8u);
  EXPECT_EQ(argument(8).bits, std::bit_cast<uint32_t>(0.5f));
  EXPECT_EQ(argument(9).bits, std::bit_cast<uint64_t>(-1e300));
  EXPECT_EQ(argument(10).bits, std::bit_cast<uint32_t>(1.5f));
  EXPECT_EQ(argument(11).bits, static_cast<uint32_t>(-3));
  EXPECT_EQ(argument(12).buffer, BufferRef());
  EXPECT_TRUE(argument(12).is_buffer);

  EXPECT_EQ(made.steps[1].kind, StepKind::kMemset);
  EXPECT_EQ(made.steps[1].value, 255);
  EXPECT_EQ(made.steps[1].to_offset.text(), "B");
  EXPECT_EQ(made.steps[2].kind, StepKind::kCopy);
  EXPECT_FALSE(made.steps[2].bytes.has_value());

  const PipelineStep& import = made.steps[3];
  EXPECT_EQ(import.import, 0);
  EXPECT_EQ(import.kernel, "add_kernel");
  EXPECT_EQ(import.block[0].text(), "128");
  EXPECT_EQ(import.shared_bytes.text(), "1040");
  ASSERT_EQ(import.arguments.size(), 3u) << "with the two hidden ones";
  EXPECT_EQ(import.arguments[1].buffer, BufferRef());
  ASSERT_EQ(made.scratch.size(), 2u);
  EXPECT_EQ(import.arguments[2].buffer, (BufferRef{BufferKind::kScratch, 1}));
  EXPECT_EQ(made.scratch[1].step, 3);
  EXPECT_EQ(made.scratch[1].name, "step 4 profile_scratch");
}

TEST_F(Pipelines, ShareAnImportedKernel) {
  folder_.write("K.json", test::triton_json());
  Result<Pipeline> made = parse(cat(kShape, kZ, R"(
[[step]]
import = "triton:K"
grid = [1]
args = ["out:Y"]
[[step]]
import = "triton:K"
grid = [2]
args = ["out:Y"]
)"));
  ASSERT_TRUE(made.ok()) << made.status().text();
  EXPECT_EQ(made->imports.size(), 1u);
  EXPECT_EQ(made->steps[2].import, 0);
  EXPECT_FALSE(made->needs_code());
  EXPECT_TRUE(made->scratch.empty());
}

TEST_F(Pipelines, AreMissing) {
  EXPECT_EQ(read_pipeline(folder_.path(), model_, {}).status().code(), Code::kNotFound);
  EXPECT_EQ(refusal(""), "pipeline.toml: found no [[step]], expected at least one");
  EXPECT_EQ(refusal("step = []"), "pipeline.toml: found no [[step]], expected at least one");
  EXPECT_EQ(refusal("[step]\nkernel='k'"), "pipeline.toml: step: found a table, expected an array");
  EXPECT_EQ(refusal("step = [1]"), "pipeline.toml: step 1: found an integer, expected a table");
}

TEST_F(Pipelines, RefuseWhatTheyDoNotKnow) {
  EXPECT_EQ(
      refusal(cat("padbatch = true\n", kShape, "[[step]]\ncopy='in:X'\nto='out:Y'\n", kZ)),
      "pipeline.toml: found 'padbatch', expected scratch, constant, output, pad_batch, nvrtc_options, step");
  EXPECT_EQ(refusal("[scratch.x]\nbytes = 1\nbyte = 2"),
            "pipeline.toml: [scratch.x]: found 'byte', expected bytes");
  EXPECT_EQ(refusal("[scratch]\nx = 1"), "pipeline.toml: [scratch.x]: found an integer, expected a table");
  EXPECT_EQ(refusal("[scratch.'a b']\nbytes = 1"),
            "pipeline.toml: [scratch.a b]: expected a name of letters, digits, - and _");
  EXPECT_EQ(
      refusal("[scratch.x]"),
      "pipeline.toml: [scratch.x]: bytes: found nothing, expected an integer or an expression in quotes");
  EXPECT_EQ(refusal("[scratch.x]\nbytes = -1"),
            "pipeline.toml: [scratch.x]: bytes: found -1, expected a number from 0 on");
  EXPECT_EQ(
      refusal("[scratch.x]\nbytes = 1.5"),
      "pipeline.toml: [scratch.x]: bytes: found a floating-point number, expected an integer or an expression "
      "in quotes");
  EXPECT_EQ(refusal("[scratch.x]\nbytes = '1/0'"),
            "pipeline.toml: [scratch.x]: bytes: expression '1/0': division by zero");
  EXPECT_EQ(refusal("[scratch.x]\nbytes = 9223372036854775808"),
            "pipeline.toml: found number 9223372036854775808, expected one that fits in 64 bits");
  EXPECT_EQ(refusal("pad_batch = 1"), "pipeline.toml: pad_batch: found an integer, expected true or false");
  EXPECT_EQ(
      refusal("nvrtc_options = ['-arch=sm_90']"),
      "pipeline.toml: nvrtc_options: found '-arch=sm_90', expected none of these: it is the device that says it");
  EXPECT_EQ(refusal("nvrtc_options = [1]"),
            "pipeline.toml: nvrtc_options: found an integer, expected strings");
}

TEST_F(Pipelines, KeepConstantsInsideTheVersion) {
  EXPECT_EQ(
      refusal("[constant.w]\nfile = '../w'"),
      "pipeline.toml: [constant.w]: file: found file '../w', expected a path inside the version directory");
  EXPECT_EQ(
      refusal("[constant.w]\nfile = '/etc/passwd'"),
      "pipeline.toml: [constant.w]: file: found file '/etc/passwd', expected a path inside the version directory");
  EXPECT_EQ(refusal("[constant.w]\nfile = 'w'"),
            "pipeline.toml: [constant.w]: file: '1/w': No such file or directory");
  folder_.write("w", "");
  EXPECT_EQ(refusal("[constant.w]\nfile = 'w'"),
            "pipeline.toml: [constant.w]: file: '1/w': found an empty file");
  folder_.write("d/w", "1");
  EXPECT_EQ(refusal("[constant.w]\nfile = 'd'"),
            "pipeline.toml: [constant.w]: file: '1/d': found no regular file, expected one");
  EXPECT_EQ(refusal("[constant.w]"),
            "pipeline.toml: [constant.w]: file: found nothing, expected a file of the version directory");
}

TEST_F(Pipelines, KnowTheShapesOfTheirOutputs) {
  EXPECT_EQ(refusal(kZ),
            "pipeline.toml: output 'Y' has a variable dimension, expected [output.Y] with its shape");
  EXPECT_EQ(refusal("[output.X]\nshape = [1]"), "pipeline.toml: [output.X]: expected an output of the model");
  EXPECT_EQ(
      refusal("[output.Y]\nshape = ['B']"),
      "pipeline.toml: [output.Y]: shape: found 1 dimensions, expected 2, as the configuration has it with the "
      "batch dimension");
  EXPECT_EQ(
      refusal("[output.Y]"),
      "pipeline.toml: [output.Y]: shape: found 0 dimensions, expected 2, as the configuration has it with the "
      "batch dimension");
  EXPECT_EQ(
      refusal("[output.Y]\nshape = ['B', 'Z.count']"),
      "pipeline.toml: [output.Y]: shape[1]: found 'Z.count', expected nothing of outputs, whose shapes are not "
      "known yet");
}

TEST_F(Pipelines, WriteEveryOutput) {
  EXPECT_EQ(refusal(cat(kShape, kZ)),
            "pipeline.toml: found no step with out:Y, expected one that writes the output");
  EXPECT_EQ(refusal(cat(kShape, kZ, "[[step]]\ncopy = 'out:Y'\nto = 'out:Z'\n")),
            "pipeline.toml: found no step with out:Y, expected one that writes the output");
  EXPECT_EQ(refusal(cat(kShape, kZ, "[[step]]\ncopy = 'in:X'\nto = 'out:Y'\n")), "it was taken");
}

TEST_F(Pipelines, RefuseStepsThatAreNone) {
  EXPECT_EQ(step_refusal("grid = [1]"), ": found 0 of kernel, import, memset and copy, expected one");
  EXPECT_EQ(step_refusal("kernel = 'k'\ncopy = 'in:X'"),
            " (k): found 2 of kernel, import, memset and copy, expected one");
  EXPECT_EQ(step_refusal("kernel = ''"), " (): kernel: found an empty string");
  EXPECT_EQ(step_refusal("kernel = 1"), ": kernel: found an integer, expected a string");
  EXPECT_EQ(step_refusal("kernel = 'k'"),
            " (k): grid: found nothing, expected an array of one to three expressions");
  EXPECT_EQ(step_refusal("kernel = 'k'\ngrid = [1]"),
            " (k): block: found nothing, expected an array of one to three expressions");
  EXPECT_EQ(step_refusal("kernel = 'k'\ngrid = [1,1,1,1]"),
            " (k): grid: found 4 elements, expected one to three");
  EXPECT_EQ(step_refusal("kernel = 'k'\ngrid = []"), " (k): grid: found 0 elements, expected one to three");
  EXPECT_EQ(step_refusal("kernel = 'k'\ngrid = 'B'"), " (k): grid: found a string, expected an array");
  EXPECT_EQ(
      step_refusal("kernel = 'k'\ngrid = ['X.shape[2]']"),
      " (k): grid[0]: expression 'X.shape[2]': found dimension '2' of 'X', expected a number less than 2, the "
      "number of its dimensions");
  EXPECT_EQ(step_refusal("kernel = 'k'\ngrid = [1, 65536]"),
            " (k): grid[1]: found 65536, expected a number from 0 to 65535");
  EXPECT_EQ(step_refusal("kernel = 'k'\ngrid = [2147483648]"),
            " (k): grid[0]: found 2147483648, expected a number from 0 to 2147483647");
  EXPECT_EQ(step_refusal("kernel = 'k'\ngrid = [-1]"),
            " (k): grid[0]: found -1, expected a number from 0 to 2147483647");
  EXPECT_EQ(step_refusal("kernel = 'k'\ngrid = [1]\nblock = [0]"),
            " (k): block[0]: found 0, expected a number from 1 to 1024");
  EXPECT_EQ(step_refusal("kernel = 'k'\ngrid = [1]\nblock = [1]\nshared = -1"),
            " (k): shared: found -1, expected a number from 0 to 2147483647");
  EXPECT_EQ(step_refusal("kernel = 'k'\ngrid = [1]\nblock = [1]\nargs = [1]"),
            " (k): args[0]: found an integer, expected a string such as 'in:NAME' or 'i32:4'");
  EXPECT_EQ(step_refusal("kernel = 'k'\ngrid = [1]\nblock = [1]\nthreads = 2"),
            " (k): found 'threads', expected kernel, grid, block, shared, cooperative, args");
}

TEST_F(Pipelines, RefuseArgumentsThatAreNone) {
  EXPECT_EQ(
      argument_refusal("X"),
      "found 'X', expected in:, out:, scratch:, constant:, i32:, u32:, i64:, u64:, f32:, f64: or param: and what "
      "is meant, or null");
  EXPECT_EQ(argument_refusal("in:Y"), "found 'in:Y', expected an input of the model; it is an output");
  EXPECT_EQ(argument_refusal("out:X"), "found 'out:X', expected an output of the model; it is an input");
  EXPECT_EQ(argument_refusal("in:N"), "found 'in:N', expected an input of the model");
  EXPECT_EQ(argument_refusal("scratch:s"), "found 'scratch:s', expected a table [scratch.s]");
  EXPECT_EQ(argument_refusal("constant:c"), "found 'constant:c', expected a table [constant.c]");
  EXPECT_EQ(argument_refusal("i32:"), "expression '': found the end at 1, expected a number, a name or '('");
  EXPECT_EQ(argument_refusal("i32:2147483648"),
            "i32:2147483648: found 2147483648, expected a number from -2147483648 to 2147483647");
  EXPECT_EQ(argument_refusal("u32:-1"), "u32:-1: found -1, expected a number from 0 to 4294967295");
  EXPECT_EQ(argument_refusal("u64:-1"), "u64:-1: found -1, expected a number from 0 to 9223372036854775807");
  EXPECT_EQ(argument_refusal("f32:B"), "found 'f32:B', expected a number of that type");
  EXPECT_EQ(argument_refusal("f32:1e99"), "found 'f32:1e99', expected a number of that type");
  EXPECT_EQ(argument_refusal("param:none"),
            "found 'param:none', expected a parameter of the model's configuration");
  EXPECT_EQ(argument_refusal("param:u32:rows"),
            "'param:u32:rows': found the parameter's value '-3', expected a number of type u32");
  EXPECT_EQ(argument_refusal("param:text"),
            "'param:text': found the parameter's value 'many', expected a number of type f32");
}

TEST_F(Pipelines, RefuseToWriteWhereNobodyMay) {
  folder_.write("w", "1234");
  const auto with_constant = [this](std::string_view step) {
    return refusal(cat("[constant.w]\nfile = 'w'\n", kShape, kZ, "[[step]]\n", step));
  };
  EXPECT_EQ(step_refusal("memset = 'in:X'"),
            ": memset: found 'in:X', expected out: or scratch:, which may be written to");
  EXPECT_EQ(
      with_constant("copy = 'in:X'\nto = 'constant:w'"),
      "pipeline.toml: step 2: to: found 'constant:w', expected out: or scratch:, which may be written to");
  EXPECT_EQ(with_constant("copy = 'constant:w'\nto = 'out:Y'"), "it was taken");
  EXPECT_EQ(step_refusal("copy = 'in:X'"), ": to: found nothing, expected a buffer such as out:NAME");
  EXPECT_EQ(step_refusal("copy = 'out:Y'\nto = 'out:Y'"),
            ": to: found the buffer that is copied, expected another one");
  EXPECT_EQ(step_refusal("memset = 'Y'"),
            ": memset: found 'Y', expected in:, out:, scratch: or constant: and a name");
  EXPECT_EQ(step_refusal("memset = 'out:Y'\nvalue = 256"),
            ": value: found 256, expected a byte, from 0 to 255");
  EXPECT_EQ(step_refusal("memset = 'out:Y'\nto_offset = 1"),
            ": found 'to_offset', expected memset, value, offset");
  EXPECT_EQ(step_refusal("memset = 'out:Y'\nbytes = -4"),
            ": bytes: found -4, expected a number from 0 to 9223372036854775807");
}

TEST_F(Pipelines, RefuseImportsThatAreNone) {
  EXPECT_EQ(step_refusal("import = 'K'\ngrid = [1]"), ": import: found 'K', expected triton: and a name");
  EXPECT_EQ(refusal(cat(kShape, kZ, "[[step]]\nimport = 'triton:K'\ngrid = [1]")),
            "pipeline.toml: step 2: import: '1/K.json': No such file or directory");
  folder_.write("K.json", test::triton_json(R"("num_ctas":1)", R"("num_ctas":2)"));
  EXPECT_EQ(step_refusal("import = 'triton:K'\ngrid = [1]"),
            ": import: K.json: num_ctas: found 2, expected 1: clusters of blocks are not served");
  folder_.write("K.json", test::triton_json());
  EXPECT_EQ(step_refusal("import = 'triton:K'\ngrid = [1]\nblock = [128]"),
            ": found 'block', expected import, grid, args");
}

TEST_F(Pipelines, RefuseWhatIsNoToml) {
  EXPECT_EQ(placed_refusal("a = 1\na = = 2"), "pipeline.toml:2:5: bad format: unknown value appeared");
  EXPECT_EQ(placed_refusal("[[step]\n"), "pipeline.toml:1:1: an invalid key appeared, is not a valid key");
  EXPECT_EQ(placed_refusal("a = \"\xff\""),
            "pipeline.toml:1:6: found a byte that is not UTF-8, expected TOML in UTF-8");
  EXPECT_EQ(placed_refusal("a = 9223372036854775808\nb = 1e999"),
            "pipeline.toml:1:5: found number 9223372036854775808, expected one that fits in 64 bits; "
            "pipeline.toml:2:5: found number 1e999, expected one that fits in 64 bits")
      << "on one line";
  EXPECT_EQ(placed_refusal("a = 1\nb = " + std::string(100000, '[')),
            "pipeline.toml:2:69: found nesting deeper than 64 levels, expected at most that many");
  EXPECT_EQ(refusal(std::string(kPipelineBytesMax + 1, '\n')),
            "pipeline.toml: found 1048577 bytes, expected at most 1048576");
}

TEST_F(Pipelines, SayWhere) {
  EXPECT_EQ(placed_refusal("pad_batch = 1"),
            "pipeline.toml:1:13: pad_batch: found an integer, expected true or false");
  EXPECT_EQ(placed_refusal("[scratch.x]\nbytes = 1\n byte = 2"),
            "pipeline.toml:3:2: [scratch.x]: found 'byte', expected bytes");
  EXPECT_EQ(
      placed_refusal("\n[constant.w]\nfile = '../w'"),
      "pipeline.toml:3:8: [constant.w]: file: found file '../w', expected a path inside the version directory");
  EXPECT_EQ(placed_refusal(cat(kShape, "[[step]]\nkernel = 'k'\ngrid = [1,\n  65536, 2]")),
            "pipeline.toml:6:3: step 1 (k): grid[1]: found 65536, expected a number from 0 to 65535");
  EXPECT_EQ(
      placed_refusal(cat(kShape, "[[step]]\nkernel = 'k'\n")),
      "pipeline.toml:3:1: step 1 (k): grid: found nothing, expected an array of one to three expressions")
      << "where the table begins";
}

TEST_F(Pipelines, AreBounded) {
  std::string text(kShape);
  for (size_t i = 0; i <= kStepsMax; ++i) text += kZ;
  EXPECT_EQ(refusal(text), "pipeline.toml: found 1025 steps, expected at most 1024");
  std::string tables;
  for (size_t i = 0; i <= kBuffersMax; ++i) tables += cat("[scratch.s", i, "]\nbytes = 1\n");
  EXPECT_EQ(refusal(tables), "pipeline.toml: found 1025 tables [scratch.NAME], expected at most 1024");
  std::string arguments = "kernel = 'k'\ngrid = [1]\nblock = [1]\nargs = ['out:Y'";
  for (size_t i = 0; i < kArgumentsMax; ++i) arguments += ",'null'";
  EXPECT_EQ(step_refusal(arguments + "]"), " (k): args: found 257, expected at most 256");
}

}  // namespace
}  // namespace atl::cuda_backend
