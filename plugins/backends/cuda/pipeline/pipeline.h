/// What a version's pipeline.toml says: which kernels run on which buffers, in which order.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/status.h"
#include "atoll/models/model_description.h"
#include "backends/cuda/code/expression.h"
#include "backends/cuda/code/extents.h"
#include "backends/cuda/code/triton_import.h"

namespace atl::cuda_backend {

inline constexpr std::string_view kPipelineFile = "pipeline.toml";
inline constexpr size_t kPipelineBytesMax = 1024 * 1024;
inline constexpr size_t kStepsMax = 1024;
inline constexpr size_t kBuffersMax = 1024;         ///< tables of scratch, and of constants
inline constexpr size_t kArgumentsMax = 256;        ///< of one step
inline constexpr uint64_t kScratchAlignment = 256;  ///< of each scratch buffer, constant and tensor

/// Memory that kernels may use between the steps of one batch; not zero at first.
struct ScratchBuffer {
  std::string name;
  Expression bytes;
  /// Of an imported kernel: the step whose number of programs the bytes are multiplied by; -1: none.
  int32_t step = -1;
};

/// Bytes that are copied to a device once.
struct Constant {
  std::string name;
  std::string path;  ///< a regular file, inside the version directory
  uint64_t size_bytes = 0;
};

enum class BufferKind : uint8_t { kNone, kTensor, kScratch, kConstant };

/// A buffer that a step uses.
struct BufferRef {
  BufferKind kind = BufferKind::kNone;  ///< kNone: a null pointer
  uint32_t index = 0;  ///< the tensor's slot, or the place in Pipeline::scratch or ::constants

  friend bool operator==(const BufferRef&, const BufferRef&) noexcept = default;
};

enum class ScalarType : uint8_t { kI32, kU32, kI64, kU64, kF32, kF64 };
constexpr uint32_t scalar_bytes(ScalarType type) noexcept {
  return type == ScalarType::kI32 || type == ScalarType::kU32 || type == ScalarType::kF32 ? 4 : 8;
}

/// An argument of a kernel as the file has it.
struct Argument {
  std::string text;  ///< "in:IMAGE"
  bool is_buffer = false;
  BufferRef buffer;
  ScalarType type = ScalarType::kI32;
  std::optional<Expression> expression;  ///< else `bits` is the value
  uint64_t bits = 0;                     ///< the value's bytes, the first scalar_bytes(type) of them

  uint32_t size_bytes() const noexcept { return is_buffer ? 8 : scalar_bytes(type); }
};

enum class StepKind : uint8_t { kKernel, kMemset, kCopy };

/// One step as the file has it.
struct PipelineStep {
  StepKind kind = StepKind::kKernel;

  // --- kKernel ---
  std::string kernel;   ///< the function's name in the code
  int32_t import = -1;  ///< its place in Pipeline::imports; -1: it is in the version's own code
  Expression grid[3] = {Expression(1), Expression(1), Expression(1)};   ///< blocks
  Expression block[3] = {Expression(1), Expression(1), Expression(1)};  ///< threads
  Expression shared_bytes;                                              ///< dynamic shared memory of a block
  bool cooperative = false;
  /// Of an imported kernel the last two are the hidden ones, which older compilers' kernels do not have: the driver reads
  /// no more arguments than there are parameters.
  std::vector<Argument> arguments;

  // --- kMemset, kCopy ---
  BufferRef to;
  BufferRef from;                   ///< kCopy
  uint8_t value = 0;                ///< kMemset: each byte
  std::optional<Expression> bytes;  ///< else to the end of `to`; kCopy: of the shorter one
  Expression to_offset;
  Expression from_offset;
};

/// A pipeline that fits the model. Immutable, shared by all instances.
struct Pipeline {
  TensorTable table;
  std::vector<ScratchBuffer> scratch;
  std::vector<Constant> constants;
  /// By slot; of outputs with a shape of their own in the file, all dimensions, else empty.
  std::vector<std::vector<Expression>> output_shapes;
  std::vector<TritonKernel> imports;
  std::vector<PipelineStep> steps;
  /// A batch may be rounded up to that of a graph: kernels read and write rows that no request has.
  bool pad_batch = false;
  std::vector<std::string> nvrtc_options;

  /// Whether a step's kernel is in the version's own code, kernels.ptx and the like.
  bool needs_code() const noexcept;
};

/// Reads `pipeline.toml` of the version directory, and looks that its constants and imports are there.
/// Errors: NOT_FOUND there is no such file; INVALID_ARGUMENT with file, step and field, what was found and what was
/// expected.
Result<Pipeline> read_pipeline(const std::string& version_directory, const ModelDescription& model,
                               TensorTable table) noexcept;

/// The same of a text. \param file  for messages
Result<Pipeline> parse_pipeline(std::string_view text, const std::string& file,
                                const std::string& version_directory, const ModelDescription& model,
                                TensorTable table) noexcept;

}  // namespace atl::cuda_backend
