// Any bytes as an expression, as what a Triton compiler leaves, or as a pipeline.toml, which is then worked out for a batch;
// the first byte decides. Whatever is refused has a reason, and what is taken stays in its limits.
#include <cstdlib>
#include <string_view>

#include "backends/cuda/code/code_file.h"
#include "backends/cuda/execution/pipeline_run.h"
#include "backends/cuda/pipeline/pipeline.h"
#include "fuzz_target.h"

using namespace atl::cuda_backend;

namespace {

const atl::ModelDescription& model() {
  static const atl::ModelDescription made = [] {
    atl::ModelDescription description;
    description.max_batch_size = 8;
    description.inputs.resize(1);
    description.inputs[0].name = "X";
    description.inputs[0].datatype = atl::DataType::kFp32;
    description.inputs[0].dims = {-1};
    description.outputs.resize(1);
    description.outputs[0].name = "Y";
    description.outputs[0].datatype = atl::DataType::kInt8;
    description.outputs[0].dims = {4};
    description.parameters = {{"p", "1"}};
    return description;
  }();
  return made;
}

void require(bool holds) {
  if (!holds) std::abort();
}

bool is_taken(const atl::Status& status) {
  require(status.ok() || !status.message().empty());
  return status.ok();
}

/// \param batch  and the columns of X
BatchExtents extents_of(const TensorTable& table, int64_t batch, int64_t columns) {
  BatchExtents extents(table);
  extents.set_batch(batch);
  const int64_t shape[] = {batch, columns};
  require(extents.set(0, shape).ok());
  return extents;
}

void check_buffer(const Pipeline& pipeline, const PipelineRun& run, const BatchExtents& extents,
                  const BufferRef& buffer, uint64_t offset, uint64_t bytes) {
  uint64_t size = 0;
  if (buffer.kind == BufferKind::kTensor) size = static_cast<uint64_t>(extents.bytes(buffer.index));
  if (buffer.kind == BufferKind::kScratch) size = run.scratch_bytes.at(buffer.index);
  if (buffer.kind == BufferKind::kConstant) size = pipeline.constants.at(buffer.index).size_bytes;
  require(offset <= size && bytes <= size - offset);
}

void run_pipeline(const Pipeline& pipeline, int64_t batch, int64_t columns) {
  BatchExtents extents = extents_of(pipeline.table, batch, columns);
  PipelineRun run;
  const LaunchLimits limits;
  if (!is_taken(set_output_shapes(pipeline, extents)) || !is_taken(evaluate(pipeline, extents, limits, run)))
    return;
  for (const PipelineStepRun& step : run.steps) {
    if (step.skip) continue;
    if (step.kind != StepKind::kKernel) {
      check_buffer(pipeline, run, extents, step.to, step.to_offset, step.bytes);
      if (step.kind == StepKind::kCopy)
        check_buffer(pipeline, run, extents, step.from, step.from_offset, step.bytes);
      continue;
    }
    uint64_t threads = 1;
    for (int i = 0; i < 3; ++i) {
      require(step.grid[i] >= 1 && step.grid[i] <= limits.grid[i] && step.block[i] >= 1);
      threads *= step.block[i];
    }
    require(threads <= limits.threads && step.shared_bytes <= limits.shared_bytes);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
  static const TensorTable table = make_tensor_table(model()).value();
  switch (data[0] % 4) {
    case 0: {
      atl::Result<Expression> expression = Expression::parse(text, table);
      if (!is_taken(expression.status())) break;
      for (const int64_t columns : {int64_t{0}, int64_t{1}, int64_t{1} << 56}) {
        BatchExtents extents = extents_of(table, 3, columns);
        (void)is_taken(expression->evaluate(extents).status());
      }
      break;
    }
    case 1:
      (void)is_taken(parse_triton_json(text, "K").status());
      break;
    case 2: {
      CodeFile file{"kernels", CodeKind::kPtx, std::string(text)};
      (void)is_taken(check_code(file));
      break;
    }
    default: {
      const atl::Result<Pipeline> pipeline =
          parse_pipeline(text, "pipeline.toml", "/nonexistent", model(), table);
      if (!is_taken(pipeline.status())) break;
      run_pipeline(pipeline.value(), 1, 0);
      run_pipeline(pipeline.value(), 8, 1000);
      run_pipeline(pipeline.value(), 1, int64_t{1} << 60);
    }
  }
  return 0;
}
