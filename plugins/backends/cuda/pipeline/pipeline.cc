#include "backends/cuda/pipeline/pipeline.h"

#include <algorithm>

#include "atoll/core/text.h"
#include "backends/cuda/code/step_reader.h"
#include "backends/cuda/code/toml_fields.h"
#include "backends/cuda/code/version_file.h"

namespace atl::cuda_backend {
namespace {

bool is_name(std::string_view text) {
  const auto is_sign = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  };
  return !text.empty() && std::all_of(text.begin(), text.end(), is_sign);
}

/// Reads the whole file.
class PipelineReader {
 public:
  PipelineReader(const std::string& file, const std::string& version_directory, const ModelDescription& model,
                 TensorTable table)
      : file_(file), directory_(version_directory), model_(model) {
    made_.table = std::move(table);
    made_.output_shapes.resize(made_.table.tensors.size());
  }

  Result<Pipeline> read(std::string_view text) {
    if (text.size() > kPipelineBytesMax)
      return invalid_argument(file_, ": found ", text.size(), " bytes, expected at most ", kPipelineBytesMax);
    lib::Problems problems;
    const std::optional<RawValue> root = lib::parse_toml(text, file_, problems);
    if (!root) return invalid_argument(lib::on_one_line(std::string(problems.status().message())));
    TomlFields fields(*root, "");
    ATOLL_RETURN_IF_ERROR(for_each_table(
        fields, "scratch", [this](auto& each, const auto& name) { return scratch(each, name); }));
    ATOLL_RETURN_IF_ERROR(for_each_table(
        fields, "constant", [this](auto& each, const auto& name) { return constant(each, name); }));
    ATOLL_RETURN_IF_ERROR(for_each_table(
        fields, "output", [this](auto& each, const auto& name) { return output(each, name); }));
    ATOLL_RETURN_IF_ERROR(fields.flag("pad_batch", made_.pad_batch));
    ATOLL_RETURN_IF_ERROR(nvrtc_options(fields));
    ATOLL_RETURN_IF_ERROR(steps(fields));
    ATOLL_RETURN_IF_ERROR(fields.finish());
    ATOLL_RETURN_IF_ERROR(check_output_shapes());
    ATOLL_RETURN_IF_ERROR(check_outputs_are_written());
    return std::move(made_);
  }

 private:
  /// Calls `read` for each [key.NAME], in the order of the file.
  template <class Read>
  Status for_each_table(TomlFields& fields, const std::string& key, Read&& read) {
    Result<const RawValue*> tables = fields.table(key);
    if (!tables.ok()) return std::move(tables).status();
    if (*tables == nullptr) return {};
    const RawValue::Table& all = *(*tables)->table();
    if (all.size() > kBuffersMax) {
      return invalid_argument(file_, ": found ", all.size(), " tables [", key, ".NAME], expected at most ",
                              kBuffersMax);
    }
    for (const RawValue::Member& member : all) {
      TomlFields members(member.value, cat("[", key, ".", member.key, "]"));
      if (member.value.table() == nullptr) {
        return invalid_argument(members.where(), ": found ", toml_type_name(member.value),
                                ", expected a table");
      }
      ATOLL_RETURN_IF_ERROR(read(members, member.key));
      ATOLL_RETURN_IF_ERROR(members.finish());
    }
    return {};
  }

  Status scratch(TomlFields& fields, const std::string& name) {
    if (!is_name(name)) return wrong_name(fields);
    const RawValue* bytes = fields.find("bytes");
    if (bytes == nullptr)
      return fields.wrong("bytes", "found nothing, expected an integer or an expression in quotes");
    Result<Expression> read = read_expression(fields, "bytes", *bytes, made_.table);
    if (!read.ok()) return std::move(read).status();
    if (read->is_constant()) {
      const Result<int64_t> value = read->evaluate(BatchExtents({}));
      if (!value.ok()) return fields.wrong("bytes", value.status().message());
      if (value.value() < 0)
        return fields.wrong("bytes", "found ", value.value(), ", expected a number from 0 on");
    }
    made_.scratch.push_back({name, std::move(*read), -1});
    return {};
  }

  Status constant(TomlFields& fields, const std::string& name) {
    if (!is_name(name)) return wrong_name(fields);
    Result<std::string> file = fields.text("file");
    if (!file.ok()) return std::move(file).status();
    if (file->empty()) return fields.wrong("file", "found nothing, expected a file of the version directory");
    Result<VersionFile> found = find_version_file(directory_, *file);
    if (!found.ok())
      return make_status(found.status().code(), fields.where("file"), ": file: ", found.status().message());
    made_.constants.push_back({name, std::move(found->path), found->size_bytes});
    return {};
  }

  Status output(TomlFields& fields, const std::string& name) {
    const std::optional<uint32_t> slot = made_.table.find(name, true);
    if (!slot) return invalid_argument(fields.where(), ": expected an output of the model");
    Result<const RawValue::Array*> shape = fields.array("shape");
    if (!shape.ok()) return std::move(shape).status();
    const size_t rank = made_.table.tensors[*slot].dims.size();
    const size_t found = *shape == nullptr ? 0 : (*shape)->size();
    if (*shape == nullptr || found != rank) {
      return fields.wrong("shape", "found ", found, " dimensions, expected ", rank,
                          ", as the configuration has it",
                          made_.table.batches ? " with the batch dimension" : "");
    }
    for (size_t i = 0; i < rank; ++i) {
      const std::string field = cat("shape[", i, "]");
      Result<Expression> read = read_expression(fields, field, (**shape)[i], made_.table);
      if (!read.ok()) return std::move(read).status();
      if (read->uses_outputs(made_.table))
        return fields.wrong(field, "found '", read->text(),
                            "', expected nothing of outputs, whose shapes are not known yet");
      made_.output_shapes[*slot].push_back(std::move(*read));
    }
    return {};
  }

  Status nvrtc_options(TomlFields& fields) {
    Result<const RawValue::Array*> options = fields.array("nvrtc_options");
    if (!options.ok()) return std::move(options).status();
    if (*options == nullptr) return {};
    for (const RawValue& option : **options) {
      const auto* text = std::get_if<std::string>(&option.data);
      if (text == nullptr) return fields.wrong_type("nvrtc_options", option, "strings");
      if (text->empty() || text->find('\0') != std::string::npos)
        return fields.wrong("nvrtc_options", "found an option that is empty or has a NUL");
      for (std::string_view taken : {"-arch", "--gpu-architecture"}) {
        if (text->starts_with(taken))
          return fields.wrong("nvrtc_options", "found '", *text,
                              "', expected none of these: it is the device that says it");
      }
      made_.nvrtc_options.push_back(*text);
    }
    return {};
  }

  Status steps(TomlFields& fields) {
    Result<const RawValue::Array*> steps = fields.array("step");
    if (!steps.ok()) return std::move(steps).status();
    if (*steps == nullptr || (*steps)->empty())
      return invalid_argument(file_, ": found no [[step]], expected at least one");
    if ((*steps)->size() > kStepsMax)
      return invalid_argument(file_, ": found ", (*steps)->size(), " steps, expected at most ", kStepsMax);
    for (const RawValue& step : **steps) ATOLL_RETURN_IF_ERROR(read_step(step, directory_, model_, made_));
    return {};
  }

  /// Each dimension is known by the configuration, by the batch, or by the file.
  Status check_output_shapes() const {
    for (size_t slot = 0; slot < made_.table.tensors.size(); ++slot) {
      const BatchTensor& info = made_.table.tensors[slot];
      if (!info.is_output || !made_.output_shapes[slot].empty()) continue;
      const auto begin = info.dims.begin() + (made_.table.batches && !info.flat ? 1 : 0);
      if (std::find(begin, info.dims.end(), -1) != info.dims.end()) {
        return invalid_argument(file_, ": output '", info.name,
                                "' has a variable dimension, expected [output.", info.name,
                                "] with its shape");
      }
    }
    return {};
  }

  Status check_outputs_are_written() const {
    std::vector<bool> written(made_.table.tensors.size());
    const auto mark = [&written](const BufferRef& buffer) {
      if (buffer.kind == BufferKind::kTensor) written[buffer.index] = true;
    };
    for (const PipelineStep& step : made_.steps) {
      mark(step.to);
      for (const Argument& argument : step.arguments) mark(argument.buffer);
    }
    for (size_t slot = 0; slot < written.size(); ++slot) {
      const BatchTensor& info = made_.table.tensors[slot];
      if (info.is_output && !written[slot])
        return invalid_argument(file_, ": found no step with out:", info.name,
                                ", expected one that writes the output");
    }
    return {};
  }

  Status wrong_name(const TomlFields& fields) const {
    return invalid_argument(fields.where(), ": expected a name of letters, digits, - and _");
  }

  const std::string& file_;
  const std::string& directory_;
  const ModelDescription& model_;
  Pipeline made_;
};

}  // namespace

bool Pipeline::needs_code() const noexcept {
  return std::any_of(steps.begin(), steps.end(), [](const PipelineStep& step) {
    return step.kind == StepKind::kKernel && step.import < 0;
  });
}

Result<Pipeline> parse_pipeline(std::string_view text, const std::string& file,
                                const std::string& version_directory, const ModelDescription& model,
                                TensorTable table) noexcept {
  return PipelineReader(file, version_directory, model, std::move(table)).read(text);
}

Result<Pipeline> read_pipeline(const std::string& version_directory, const ModelDescription& model,
                               TensorTable table) noexcept {
  Result<std::string> text =
      read_version_file(version_directory, std::string(kPipelineFile), kPipelineBytesMax);
  if (!text.ok()) return std::move(text).status();
  return parse_pipeline(*text, std::string(kPipelineFile), version_directory, model, std::move(table));
}

}  // namespace atl::cuda_backend
