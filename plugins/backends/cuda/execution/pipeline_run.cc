#include "backends/cuda/execution/pipeline_run.h"

#include <algorithm>
#include <limits>

#include "atoll/core/text.h"
#include "backends/cuda/code/argument_reader.h"

namespace atl::cuda_backend {
namespace {

/// Works out one step.
class StepEvaluation {
 public:
  StepEvaluation(const Pipeline& pipeline, const BatchExtents& extents, const LaunchLimits& limits,
                 const std::vector<uint64_t>& scratch_bytes)
      : pipeline_(pipeline), extents_(extents), limits_(limits), scratch_bytes_(scratch_bytes) {}

  Status kernel(const PipelineStep& step, PipelineStepRun& run) const {
    run.cooperative = step.cooperative;
    bool empty = false;
    for (int i = 0; i < 3; ++i) {
      ATOLL_RETURN_IF_ERROR(number({"grid", i}, step.grid[i], 0, limits_.grid[i], run.grid[i]));
      empty = empty || run.grid[i] == 0;
    }
    run.skip = empty;
    if (empty) return {};
    uint64_t threads = 1;
    for (int i = 0; i < 3; ++i) {
      ATOLL_RETURN_IF_ERROR(number({"block", i}, step.block[i], 1, limits_.block[i], run.block[i]));
      threads *= run.block[i];
    }
    if (threads > limits_.threads)
      return invalid_argument("block: found ", threads, " threads, expected at most ", limits_.threads);
    ATOLL_RETURN_IF_ERROR(
        number({"shared", -1}, step.shared_bytes, 0, limits_.shared_bytes, run.shared_bytes));
    run.arguments.resize(step.arguments.size());
    for (size_t i = 0; i < step.arguments.size(); ++i) {
      const Status status = argument(step.arguments[i], run.arguments[i]);
      if (!status.ok()) return make_status(status.code(), "args[", i, "]: ", status.message());
    }
    return {};
  }

  Status memset(const PipelineStep& step, PipelineStepRun& run) const {
    run.to = step.to;
    run.value = step.value;
    uint64_t room = 0;
    ATOLL_RETURN_IF_ERROR(room_behind("offset", step.to_offset, step.to, run.to_offset, room));
    return byte_count(step, room, run);
  }

  Status copy(const PipelineStep& step, PipelineStepRun& run) const {
    run.to = step.to;
    run.from = step.from;
    uint64_t room = 0, there = 0;
    ATOLL_RETURN_IF_ERROR(room_behind("to_offset", step.to_offset, step.to, run.to_offset, room));
    ATOLL_RETURN_IF_ERROR(room_behind("from_offset", step.from_offset, step.from, run.from_offset, there));
    return byte_count(step, std::min(room, there), run);
  }

 private:
  /// A field, or an element of one.
  struct Field {
    const char* name;
    int index;  ///< -1: it is no array
  };
  static std::string text_of(const Field& field) {
    return field.index < 0 ? std::string(field.name) : cat(field.name, "[", field.index, "]");
  }

  Status number(const Field& field, const Expression& expression, int64_t least, int64_t most,
                uint32_t& into) const {
    const Result<int64_t> value = expression.evaluate(extents_);
    if (!value.ok()) return invalid_argument(text_of(field), ": ", value.status().message());
    const int64_t found = value.value();
    if (found < least || found > most) {
      return invalid_argument(text_of(field), ": found ", found, " of '", expression.text(),
                              "', expected a number from ", least, " to ", most);
    }
    into = static_cast<uint32_t>(found);
    return {};
  }

  Status argument(const Argument& from, ArgumentValue& to) const {
    to.is_buffer = from.is_buffer;
    to.buffer = from.buffer;
    to.bits = from.bits;
    if (!from.expression) return {};
    const Result<int64_t> value = from.expression->evaluate(extents_);
    if (!value.ok()) return value.status().clone();
    to.bits = static_cast<uint64_t>(value.value());
    return check_fits(from.text, value.value(), from.type);
  }

  uint64_t size_of(const BufferRef& buffer) const {
    switch (buffer.kind) {
      case BufferKind::kTensor:
        return static_cast<uint64_t>(extents_.bytes(buffer.index));
      case BufferKind::kScratch:
        return scratch_bytes_[buffer.index];
      case BufferKind::kConstant:
        return pipeline_.constants[buffer.index].size_bytes;
      case BufferKind::kNone:
        break;
    }
    return 0;
  }

  /// \param room  out: bytes from the offset to the buffer's end
  Status room_behind(std::string_view what, const Expression& expression, const BufferRef& buffer,
                     uint64_t& offset, uint64_t& room) const {
    const Result<int64_t> value = expression.evaluate(extents_);
    if (!value.ok()) return invalid_argument(what, ": ", value.status().message());
    const uint64_t size = size_of(buffer);
    if (value.value() < 0 || static_cast<uint64_t>(value.value()) > size)
      return invalid_argument(what, ": found ", value.value(), ", expected an offset in a buffer of ", size,
                              " bytes");
    offset = static_cast<uint64_t>(value.value());
    room = size - offset;
    return {};
  }

  Status byte_count(const PipelineStep& step, uint64_t room, PipelineStepRun& run) const {
    run.bytes = room;
    if (step.bytes) {
      const Result<int64_t> value = step.bytes->evaluate(extents_);
      if (!value.ok()) return invalid_argument("bytes: ", value.status().message());
      if (value.value() < 0 || static_cast<uint64_t>(value.value()) > room)
        return invalid_argument("bytes: found ", value.value(), ", expected at most the ", room,
                                " that are there");
      run.bytes = static_cast<uint64_t>(value.value());
    }
    run.skip = run.bytes == 0;
    return {};
  }

  const Pipeline& pipeline_;
  const BatchExtents& extents_;
  const LaunchLimits& limits_;
  const std::vector<uint64_t>& scratch_bytes_;
};

Status note_step(const Pipeline& pipeline, size_t index, const Status& status) {
  const std::string& kernel = pipeline.steps[index].kernel;
  const std::string name = kernel.empty() ? std::string() : cat(" (", kernel, ")");
  return make_status(status.code(), kPipelineFile, ": step ", index + 1, name, ": ", status.message());
}

Status evaluate_scratch(const Pipeline& pipeline, const BatchExtents& extents, std::vector<uint64_t>& bytes) {
  bytes.resize(pipeline.scratch.size());
  for (size_t i = 0; i < bytes.size(); ++i) {
    const ScratchBuffer& scratch = pipeline.scratch[i];
    const Result<int64_t> value = scratch.bytes.evaluate(extents);
    if (!value.ok() || value.value() < 0) {
      const std::string found = value.ok()
                                    ? cat("bytes: found ", value.value(), ", expected a number from 0 on")
                                    : cat("bytes: ", value.status().message());
      return invalid_argument(kPipelineFile, ": [scratch.", scratch.name, "]: ", found);
    }
    bytes[i] = static_cast<uint64_t>(value.value());
  }
  return {};
}

/// What is for each program of a step becomes what is for all of them.
Status multiply_by_programs(const Pipeline& pipeline, PipelineRun& run) {
  for (size_t i = 0; i < pipeline.scratch.size(); ++i) {
    if (pipeline.scratch[i].step < 0) continue;
    const auto step = static_cast<size_t>(pipeline.scratch[i].step);
    uint64_t& bytes = run.scratch_bytes[i];
    if (run.steps[step].skip) bytes = 0;
    for (const uint32_t blocks : run.steps[step].grid) {
      if (__builtin_mul_overflow(bytes, uint64_t{blocks}, &bytes))
        return note_step(pipeline, step,
                         invalid_argument("the scratch memory of all programs leaves 64 bits"));
    }
  }
  return {};
}

}  // namespace

Status set_output_shapes(const Pipeline& pipeline, BatchExtents& extents) noexcept {
  int64_t shape[kMaxRank] = {};
  for (uint32_t slot = 0; slot < pipeline.table.tensors.size(); ++slot) {
    const BatchTensor& info = pipeline.table.tensors[slot];
    if (!info.is_output) continue;
    const size_t rank = info.dims.size();
    if (rank > kMaxRank)
      return invalid_argument("output '", info.name, "': found ", rank, " dimensions, expected at most ",
                              kMaxRank);
    std::copy(info.dims.begin(), info.dims.end(), shape);
    if (pipeline.table.batches && !info.flat) shape[0] = extents.batch();
    const std::vector<Expression>& wanted = pipeline.output_shapes[slot];
    for (size_t i = 0; i < wanted.size(); ++i) {
      const Result<int64_t> value = wanted[i].evaluate(extents);
      if (!value.ok())
        return invalid_argument(kPipelineFile, ": [output.", info.name, "]: shape[", i,
                                "]: ", value.status().message());
      if (value.value() < 0 || (shape[i] >= 0 && shape[i] != value.value())) {
        return invalid_argument(kPipelineFile, ": [output.", info.name, "]: shape[", i, "]: found ",
                                value.value(), ", expected ",
                                shape[i] < 0 ? std::string("a number from 0 on") : cat(shape[i]));
      }
      shape[i] = value.value();
    }
    ATOLL_RETURN_IF_ERROR(extents.set(slot, {shape, rank}));
  }
  return {};
}

Status evaluate(const Pipeline& pipeline, const BatchExtents& extents, const LaunchLimits& limits,
                PipelineRun& run) noexcept {
  ATOLL_RETURN_IF_ERROR(evaluate_scratch(pipeline, extents, run.scratch_bytes));
  run.steps.resize(pipeline.steps.size());
  const StepEvaluation evaluation(pipeline, extents, limits, run.scratch_bytes);
  for (size_t i = 0; i < pipeline.steps.size(); ++i) {
    const PipelineStep& step = pipeline.steps[i];
    PipelineStepRun& to = run.steps[i];
    to.kind = step.kind;
    const Status status = step.kind == StepKind::kKernel   ? evaluation.kernel(step, to)
                          : step.kind == StepKind::kMemset ? evaluation.memset(step, to)
                                                           : evaluation.copy(step, to);
    if (!status.ok()) return note_step(pipeline, i, status);
  }
  return multiply_by_programs(pipeline, run);
}

}  // namespace atl::cuda_backend
