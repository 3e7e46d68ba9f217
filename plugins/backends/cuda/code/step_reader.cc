#include "backends/cuda/code/step_reader.h"

#include <algorithm>
#include <limits>

#include "atoll/core/text.h"
#include "backends/cuda/code/argument_reader.h"
#include "backends/cuda/execution/pipeline_run.h"

namespace atl::cuda_backend {
namespace {

constexpr std::string_view kImportPrefix = "triton:";

/// Reads one step.
class StepReader {
 public:
  StepReader(TomlFields& fields, const std::string& version_directory, const ModelDescription& model,
             Pipeline& pipeline)
      : fields_(fields), directory_(version_directory), model_(model), pipeline_(pipeline) {}

  Status read() {
    static constexpr const char* kKinds[] = {"kernel", "import", "memset", "copy"};
    const auto count = std::count_if(std::begin(kKinds), std::end(kKinds),
                                     [this](const char* kind) { return fields_.has(kind); });
    if (count != 1) {
      return invalid_argument(fields_.where(), ": found ", count,
                              " of kernel, import, memset and copy, expected one");
    }
    ATOLL_RETURN_IF_ERROR(fields_.has("kernel")   ? kernel()
                          : fields_.has("import") ? import()
                          : fields_.has("memset") ? memset()
                                                  : copy());
    ATOLL_RETURN_IF_ERROR(fields_.finish());
    pipeline_.steps.push_back(std::move(step_));
    return {};
  }

 private:
  Status text(const std::string& key, std::string& value) {
    Result<std::string> found = fields_.text(key);
    if (!found.ok()) return std::move(found).status();
    value = std::move(*found);
    return {};
  }

  /// Nothing happens where the field is not there.
  Status expression(const std::string& key, int64_t least, int64_t most, Expression& into) {
    const RawValue* value = fields_.find(key);
    return value == nullptr ? Status() : expression(key, *value, least, most, into);
  }
  Status expression(const std::string& field, const RawValue& value, int64_t least, int64_t most,
                    Expression& into) {
    Result<Expression> read = read_expression(fields_, field, value, pipeline_.table);
    if (!read.ok()) return std::move(read).status();
    if (read->is_constant()) {
      const Result<int64_t> number = read->evaluate(BatchExtents({}));
      if (!number.ok()) return fields_.wrong(field, number.status().message());
      if (Status status = check_range(field, number.value(), least, most); !status.ok())
        return invalid_argument(fields_.where(field), ": ", status.message());
    }
    into = std::move(*read);
    return {};
  }

  /// One to three of them.
  Status dimensions(const std::string& key, int64_t least, const uint32_t (&most)[3], Expression (&into)[3]) {
    Result<const RawValue::Array*> values = fields_.array(key);
    if (!values.ok()) return std::move(values).status();
    if (*values == nullptr)
      return fields_.wrong(key, "found nothing, expected an array of one to three expressions");
    const RawValue::Array& array = **values;
    if (array.empty() || array.size() > 3)
      return fields_.wrong(key, "found ", array.size(), " elements, expected one to three");
    for (size_t i = 0; i < array.size(); ++i)
      ATOLL_RETURN_IF_ERROR(expression(cat(key, "[", i, "]"), array[i], least, most[i], into[i]));
    return {};
  }

  Status grid() { return dimensions("grid", 0, LaunchLimits().grid, step_.grid); }

  Status arguments() {
    Result<const RawValue::Array*> values = fields_.array("args");
    if (!values.ok()) return std::move(values).status();
    if (*values == nullptr) return {};
    const RawValue::Array& array = **values;
    if (array.size() > kArgumentsMax)
      return fields_.wrong("args", "found ", array.size(), ", expected at most ", kArgumentsMax);
    for (size_t i = 0; i < array.size(); ++i) {
      const std::string field = cat("args[", i, "]");
      const auto* text = std::get_if<std::string>(&array[i].data);
      if (text == nullptr)
        return fields_.wrong_type(field, array[i], "a string such as 'in:NAME' or 'i32:4'");
      Result<Argument> argument = read_argument(*text, pipeline_, model_);
      if (!argument.ok()) return fields_.wrong(field, argument.status().message());
      step_.arguments.push_back(std::move(*argument));
    }
    return {};
  }

  Status kernel() {
    ATOLL_RETURN_IF_ERROR(text("kernel", step_.kernel));
    ATOLL_RETURN_IF_ERROR(grid());
    ATOLL_RETURN_IF_ERROR(dimensions("block", 1, LaunchLimits().block, step_.block));
    ATOLL_RETURN_IF_ERROR(expression("shared", 0, std::numeric_limits<int32_t>::max(), step_.shared_bytes));
    ATOLL_RETURN_IF_ERROR(fields_.flag("cooperative", step_.cooperative));
    return arguments();
  }

  Status import() {
    std::string from;
    ATOLL_RETURN_IF_ERROR(text("import", from));
    if (!from.starts_with(kImportPrefix) || from.size() == kImportPrefix.size())
      return fields_.wrong("import", "found '", from, "', expected triton: and a name");
    const std::string name = from.substr(kImportPrefix.size());
    auto known = std::find_if(pipeline_.imports.begin(), pipeline_.imports.end(),
                              [&name](const TritonKernel& kernel) { return kernel.name == name; });
    if (known == pipeline_.imports.end()) {
      Result<TritonKernel> read = read_triton_kernel(directory_, name);
      if (!read.ok())
        return make_status(read.status().code(), fields_.where(), ": import: ", read.status().message());
      known = pipeline_.imports.insert(known, std::move(*read));
    }
    step_.import = static_cast<int32_t>(known - pipeline_.imports.begin());
    step_.kernel = known->function;
    step_.block[0] = Expression(known->threads);
    step_.shared_bytes = Expression(known->shared_bytes);
    step_.cooperative = known->cooperative;
    ATOLL_RETURN_IF_ERROR(grid());
    ATOLL_RETURN_IF_ERROR(arguments());
    hidden_argument("global_scratch", known->global_scratch_bytes);
    hidden_argument("profile_scratch", known->profile_scratch_bytes);
    return {};
  }

  /// Null, or memory for all programs of the launch.
  void hidden_argument(const char* what, uint64_t program_bytes) {
    Argument argument;
    argument.text = what;
    argument.is_buffer = true;
    if (program_bytes != 0) {
      argument.buffer = {BufferKind::kScratch, static_cast<uint32_t>(pipeline_.scratch.size())};
      const size_t step = pipeline_.steps.size();
      // No table's name has a blank, so that no step can name it.
      pipeline_.scratch.push_back({cat("step ", step + 1, " ", what),
                                   Expression(static_cast<int64_t>(program_bytes)),
                                   static_cast<int32_t>(step)});
    }
    step_.arguments.push_back(std::move(argument));
  }

  Status buffer(const std::string& key, bool writes, BufferRef& into) {
    std::string name;
    ATOLL_RETURN_IF_ERROR(text(key, name));
    if (name.empty()) return fields_.wrong(key, "found nothing, expected a buffer such as out:NAME");
    Result<BufferRef> read = read_buffer(name, pipeline_, writes);
    if (!read.ok()) return fields_.wrong(key, read.status().message());
    into = *read;
    return {};
  }

  Status byte_count() {
    if (!fields_.has("bytes")) return {};
    return expression("bytes", 0, std::numeric_limits<int64_t>::max(), step_.bytes.emplace());
  }

  Status memset() {
    step_.kind = StepKind::kMemset;
    ATOLL_RETURN_IF_ERROR(buffer("memset", true, step_.to));
    if (const RawValue* value = fields_.find("value")) {
      const auto* number = std::get_if<int64_t>(&value->data);
      if (number == nullptr) return fields_.wrong_type("value", *value, "an integer");
      if (*number < 0 || *number > 255)
        return fields_.wrong("value", "found ", *number, ", expected a byte, from 0 to 255");
      step_.value = static_cast<uint8_t>(*number);
    }
    ATOLL_RETURN_IF_ERROR(expression("offset", 0, std::numeric_limits<int64_t>::max(), step_.to_offset));
    return byte_count();
  }

  Status copy() {
    step_.kind = StepKind::kCopy;
    ATOLL_RETURN_IF_ERROR(buffer("copy", false, step_.from));
    ATOLL_RETURN_IF_ERROR(buffer("to", true, step_.to));
    if (step_.from == step_.to)
      return fields_.wrong("to", "found the buffer that is copied, expected another one");
    ATOLL_RETURN_IF_ERROR(
        expression("from_offset", 0, std::numeric_limits<int64_t>::max(), step_.from_offset));
    ATOLL_RETURN_IF_ERROR(expression("to_offset", 0, std::numeric_limits<int64_t>::max(), step_.to_offset));
    return byte_count();
  }

  TomlFields& fields_;
  const std::string& directory_;
  const ModelDescription& model_;
  Pipeline& pipeline_;
  PipelineStep step_;
};

}  // namespace

Result<Expression> read_expression(const TomlFields& fields, const std::string& field, const RawValue& value,
                                   const TensorTable& table) {
  if (const auto* number = std::get_if<int64_t>(&value.data)) return Expression(*number);
  const auto* text = std::get_if<std::string>(&value.data);
  if (text == nullptr) return fields.wrong_type(field, value, "an integer or an expression in quotes");
  Result<Expression> parsed = Expression::parse(*text, table);
  if (!parsed.ok()) return fields.wrong(field, parsed.status().message());
  return parsed;
}

Status read_step(const RawValue& value, const std::string& version_directory, const ModelDescription& model,
                 Pipeline& pipeline) {
  const std::string title = cat("step ", pipeline.steps.size() + 1);
  TomlFields fields(value, title);
  if (value.table() == nullptr)
    return invalid_argument(fields.where(), ": found ", toml_type_name(value), ", expected a table");
  const RawValue::Member* kernel = value.find("kernel");
  if (const auto* name = kernel == nullptr ? nullptr : std::get_if<std::string>(&kernel->value.data))
    fields.set_title(cat(title, " (", *name, ")"));
  return StepReader(fields, version_directory, model, pipeline).read();
}

}  // namespace atl::cuda_backend
