#include "models/catalog/requests/validate.h"

#include <algorithm>
#include <memory>
#include <new>
#include <utility>

#include "models/catalog/requests/raw_input.h"
#include "models/catalog/requests/reshape.h"
#include "models/catalog/requests/string_elements.h"

namespace atl::models {
namespace {

constexpr std::string_view kBatchDimensionNote =
    "NOTE: Setting a non-zero max_batch_size in the model config requires a batch dimension to be prepended "
    "to each input shape. If you want to specify the full shape including the batch dim in your input dims "
    "config, try setting max_batch_size to zero. See the model configuration docs for more info on "
    "max_batch_size.";

constexpr uint32_t kNamesListedMax = 100;  // a message stays short whatever the client sent

/// A client's shape for a message, cut after the longest legal rank.
std::string got_shape(std::span<const int64_t> shape) {
  if (shape.size() <= kMaxRank) return shape_text(shape);
  std::string text = shape_text(shape.first(kMaxRank));
  text.pop_back();
  return text + ",...]";
}

bool from_client(const InputTensor& input) noexcept {
  return (input.flags & InputTensor::kAddedByScheduler) == 0;
}

/// Which positions of a configuration a request has named. The bits of a wide model come from the arena.
class SeenSet {
 public:
  SeenSet(size_t size, Arena& arena) noexcept {
    if (size > 64) words_ = arena.make_array<uint64_t>((size + 63) / 64);
  }
  SeenSet(const SeenSet&) = delete;
  SeenSet& operator=(const SeenSet&) = delete;
  /// \returns false if it was there already.
  bool add(int32_t index) noexcept {
    auto at = static_cast<uint32_t>(index);
    uint64_t bit = uint64_t{1} << (at % 64);
    uint64_t& word = words_[at / 64];
    if ((word & bit) != 0) return false;
    word |= bit;
    return true;
  }
  bool has(size_t at) const noexcept { return ((words_[at / 64] >> (at % 64)) & 1) != 0; }

 private:
  uint64_t inline_word_ = 0;
  uint64_t* words_ = &inline_word_;
};

/// Names in brackets, as many as one may want to read.
class NameList {
 public:
  void add(std::string_view name) {
    if (count_ < kNamesListedMax) text_ += cat(count_ == 0 ? "" : ",", "'", name, "'");
    if (count_++ == kNamesListedMax) text_ += ",...";
  }
  bool empty() const noexcept { return count_ == 0; }
  std::string text() const { return cat("[", text_, "]"); }

 private:
  std::string text_;
  uint32_t count_ = 0;
};

/// The wire text about missing and surplus inputs.
Status wrong_inputs(const Request& request, const ModelInfo& info, const SeenSet& seen, uint32_t given) {
  std::string text = request_prefix(request);
  if (info.required_inputs == info.inputs.size()) {
    text += cat("expected ", info.inputs.size(), " inputs");
  } else {
    text += cat("expected number of inputs between ", info.required_inputs, " and ", info.inputs.size());
  }
  NameList got, unknown, missing;
  for (const InputTensor& input : request.inputs) {
    if (!from_client(input)) continue;
    got.add(input.name);
    const bool is_known =
        std::ranges::any_of(info.inputs, [&](const auto& one) { return one.name == input.name; });
    if (!is_known) unknown.add(input.name);
  }
  for (size_t i = 0; i < info.inputs.size(); ++i) {
    if (!info.inputs[i].optional && !seen.has(i)) missing.add(info.inputs[i].name);
  }
  text += cat(" but got ", given, " inputs for model '", info.name, "'. Got input(s) ", got.text());
  if (missing.empty()) {
    text += cat(", but the model has no input(s) ", unknown.text(), ".");
  } else {
    text +=
        cat(", but missing required input(s) ", missing.text(), ". Please provide all required input(s).");
  }
  return Status(Code::kInvalidArgument, std::move(text));
}

std::string expected_shape(const TensorSpec& spec, bool batched) {
  std::vector<int64_t> shape;
  if (batched) shape.push_back(-1);
  shape.insert(shape.end(), spec.dims.begin(), spec.dims.end());
  return shape_text(shape);
}

}  // namespace

std::string request_prefix(const Request& request) {
  return cat("[request id: ", request.id.empty() ? std::string_view("<id_unknown>") : request.id, "] ");
}

Validator::Validator(const ModelInfo& info, CorrelationControl correlation, const DeviceMemory* devices)
    : info_(info),
      input_names_(info.inputs),
      output_names_(info.outputs),
      correlation_(std::move(correlation)),
      devices_(devices) {
  for (const TensorSpec& spec : info.inputs) reads_contents_ |= spec.datatype == DataType::kBytes;
}

Status Validator::validate(Request& request) const noexcept {
  ATOLL_RETURN_IF_ERROR(complete_raw_input(request, info_));
  ATOLL_RETURN_IF_ERROR(complete_outputs(request));
  ATOLL_RETURN_IF_ERROR(resolve_inputs(request));
  ATOLL_RETURN_IF_ERROR(find_batch_size(request));
  for (InputTensor& input : request.inputs) {
    if (from_client(input)) ATOLL_RETURN_IF_ERROR(check_input(request, input));
  }
  return check_correlation(request);
}

Status Validator::complete_outputs(Request& request) const noexcept {
  const auto& specs = info_.outputs;
  if (request.outputs.empty()) {
    for (size_t i = 0; i < specs.size(); ++i) {
      RequestedOutput& output = request.add_output();
      output.name = specs[i].name;
      output.spec_index = static_cast<int32_t>(i);
    }
    return {};
  }
  SeenSet seen(specs.size(), request.arena());
  uint32_t kept = 0;
  for (uint32_t i = 0; i < request.outputs.size(); ++i) {
    RequestedOutput& output = request.outputs[i];
    output.spec_index = output_names_.find(output.name, i);
    if (output.spec_index < 0) {
      return invalid_argument("unexpected inference output '", output.name, "' for model '", info_.name, "'");
    }
    if (seen.add(output.spec_index)) request.outputs[kept++] = output;
  }
  request.outputs.truncate(kept);
  return {};
}

Status Validator::resolve_inputs(Request& request) const noexcept {
  SeenSet seen(info_.inputs.size(), request.arena());
  const InputTensor* unknown = nullptr;
  uint32_t given = 0;
  uint32_t required = 0;
  for (InputTensor& input : request.inputs) {
    if (!from_client(input)) continue;
    input.spec_index = input_names_.find(input.name, given);
    ++given;
    if (input.spec_index < 0) {
      if (unknown == nullptr) unknown = &input;
      continue;
    }
    if (!seen.add(input.spec_index)) {
      return invalid_argument(request_prefix(request), "input '", input.name, "' already exists in request");
    }
    if (!info_.inputs[static_cast<size_t>(input.spec_index)].optional) ++required;
  }
  if (given < info_.required_inputs || given > info_.inputs.size()) {
    return wrong_inputs(request, info_, seen, given);
  }
  if (unknown != nullptr) {
    return invalid_argument("unexpected inference input '", unknown->name, "' for model '", info_.name, "'");
  }
  if (required != info_.required_inputs) return wrong_inputs(request, info_, seen, given);
  return {};
}

Status Validator::find_batch_size(Request& request) const noexcept {
  request.batch_size = 0;
  if (info_.max_batch_size == 0) return {};
  int64_t batch = -1;
  for (const InputTensor& input : request.inputs) {
    if (!from_client(input)) continue;
    if (info_.inputs[static_cast<size_t>(input.spec_index)].shape_tensor) continue;
    if (input.shape.empty()) {
      return invalid_argument(request_prefix(request), "input '", input.name,
                              "' has no shape but model requires batch dimension for '", info_.name, "'");
    }
    int64_t first = input.shape[0];
    if (first < 0) {
      return invalid_argument(request_prefix(request), "All input dimensions should be specified for input '",
                              input.name, "' for model '", info_.name, "', got ", got_shape(input.shape));
    }
    if (batch == -1) batch = first;
    if (first != batch) {
      return invalid_argument(request_prefix(request), "input '", input.name,
                              "' batch size does not match other inputs for '", info_.name, "'");
    }
  }
  if (batch > static_cast<int64_t>(info_.max_batch_size)) {
    return invalid_argument(request_prefix(request),
                            "inference request batch-size must be <= ", info_.max_batch_size, " for '",
                            info_.name, "'");
  }
  if (batch == 0) {
    return invalid_argument(request_prefix(request), "inference request batch-size must be >= 1 for '",
                            info_.name, "'");
  }
  request.batch_size = batch == -1 ? 0 : static_cast<uint32_t>(batch);
  return {};
}

Status Validator::check_input(Request& request, InputTensor& input) const noexcept {
  const TensorSpec& spec = info_.inputs[static_cast<size_t>(input.spec_index)];
  if (input.datatype != spec.datatype) {
    return invalid_argument(request_prefix(request), "inference input '", input.name, "' data-type is '",
                            data_type_name(input.datatype), "', but model '", info_.name, "' expects '",
                            data_type_name(spec.datatype), "'");
  }
  ATOLL_RETURN_IF_ERROR(check_shape(request, input, spec));
  if (spec.has_reshape && !spec.shape_tensor) {
    input.shape = reshaped(input.shape, spec.dims, spec.reshape, info_.max_batch_size != 0, request.arena());
  }
  input.size_bytes = 0;
  for (const Buffer& buffer : input.buffers) input.size_bytes += buffer.size_bytes;
  if (spec.non_linear_format) return {};
  return spec.datatype == DataType::kBytes ? check_strings(request, input) : check_size(request, input);
}

Status Validator::check_shape(const Request& request, const InputTensor& input,
                              const TensorSpec& spec) const noexcept {
  for (int64_t dim : input.shape) {
    if (dim < 0) {
      return invalid_argument(request_prefix(request), "All input dimensions should be specified for input '",
                              input.name, "' for model '", info_.name, "', got ", got_shape(input.shape));
    }
  }
  bool batching = info_.max_batch_size != 0;
  size_t batch_dims = batching && !spec.shape_tensor ? 1 : 0;
  bool fits = input.shape.size() == spec.dims.size() + batch_dims && input.shape.size() <= kMaxRank;
  for (size_t i = 0; fits && i < spec.dims.size(); ++i) {
    int64_t got = input.shape[i + batch_dims];
    // The first value of a batching model's shape tensor may be the request's batch size.
    bool longer = batching && spec.shape_tensor && i == 0 && got == spec.dims[0] + 1;
    fits = spec.dims[i] == -1 || spec.dims[i] == got || longer;
  }
  if (fits) return {};
  return invalid_argument(request_prefix(request), "unexpected shape for input '", input.name,
                          "' for model '", info_.name, "'. Expected ", expected_shape(spec, batch_dims != 0),
                          ", got ", got_shape(input.shape), ". ",
                          batching ? kBatchDimensionNote : std::string_view());
}

Status Validator::check_size(const Request& request, const InputTensor& input) const noexcept {
  std::optional<int64_t> elements = element_count(input.shape);
  uint64_t expected = 0;
  if (!elements || __builtin_mul_overflow(static_cast<uint64_t>(*elements),
                                          data_type_size_bytes(input.datatype), &expected)) {
    return invalid_argument(request_prefix(request), "byte size overflow for input '", input.name,
                            "' for model '", info_.name, "': ", shape_text(input.shape), " of ",
                            data_type_name(input.datatype), " is more than 2^63 - 1 elements or bytes");
  }
  if (expected == input.size_bytes) return {};
  return invalid_argument(request_prefix(request), "input byte size mismatch for input '", input.name,
                          "' for model '", info_.name, "'. Expected ", expected, ", got ", input.size_bytes);
}

Status Validator::check_strings(const Request& request, const InputTensor& input) const noexcept {
  for (const Buffer& buffer : input.buffers) {
    if (!is_host_ready(buffer)) return check_device_strings(request, input);
  }
  return check_host_strings(request, input, input.buffers);
}

Status Validator::check_device_strings(const Request& request, const InputTensor& input) const noexcept {
  if (devices_ == nullptr || !devices_->is_present()) return {};  // only the backend can read it
  const std::unique_ptr<std::byte[]> bytes(new (std::nothrow) std::byte[input.size_bytes]);
  if (bytes == nullptr) {
    return make_status(Code::kResourceExhausted, request_prefix(request), "no memory to check the ",
                       input.size_bytes, " bytes of input '", input.name, "'");
  }
  Buffer whole;
  whole.data = bytes.get();
  for (const Buffer& from : input.buffers) {
    Buffer part;
    part.data = bytes.get() + whole.size_bytes;
    part.size_bytes = from.size_bytes;
    ATOLL_RETURN_IF_ERROR(devices_->copy(part, from));
    whole.size_bytes += from.size_bytes;
  }
  return check_host_strings(request, input, {&whole, 1});
}

Status Validator::check_host_strings(const Request& request, const InputTensor& input,
                                     std::span<const Buffer> buffers) const noexcept {
  std::optional<int64_t> elements = element_count(input.shape);
  if (!elements) {
    return invalid_argument(request_prefix(request), "byte size overflow for input '", input.name,
                            "' for model '", info_.name, "': ", shape_text(input.shape),
                            " of BYTES is more than 2^63 - 1 elements");
  }
  auto check = check_string_elements(buffers, static_cast<uint64_t>(*elements));
  auto about = [&] { return cat("inference input '", input.name, "' for model '", info_.name, "'"); };
  switch (check.fault) {
    case StringElementsFault::kNone:
      return {};
    case StringElementsFault::kTruncatedLength:
      return invalid_argument(
          request_prefix(request), "incomplete string length indicator for ", about(),
          ", expecting 4 bytes but only ", check.found,
          " bytes available. Please make sure the string length indicator is in one buffer.");
    case StringElementsFault::kTruncatedData:
      return invalid_argument("incomplete string data for inference input '", input.name,
                              "', expecting string of length ", check.expected, " but only ", check.found,
                              " bytes available");
    case StringElementsFault::kTooMany:
      return invalid_argument(request_prefix(request), "unexpected number of string elements ", check.found,
                              " for ", about(), ", expecting ", check.expected);
    case StringElementsFault::kTooFew:
      break;
  }
  return invalid_argument(request_prefix(request), "expected ", check.expected, " string elements for ",
                          about(), ", got ", check.found);
}

Status Validator::check_correlation(const Request& request) const noexcept {
  if (correlation_.datatype == DataType::kInvalid || request.sequence.empty()) return {};
  bool got_text = !request.sequence.text.empty();
  bool wants_text = correlation_.datatype == DataType::kBytes;
  if (got_text == wants_text) return {};
  return invalid_argument(request_prefix(request), "sequence batching control '", correlation_.tensor,
                          "' data-type is '", got_text ? "BYTES" : "UINT64", "', but model '", info_.name,
                          "' expects '", data_type_name(correlation_.datatype), "'");
}

}  // namespace atl::models
