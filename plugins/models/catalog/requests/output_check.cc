#include "models/catalog/requests/output_check.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "atoll/core/text.h"
#include "atoll/request/sink_interposer.h"

namespace atl::models {

/// Of the type and of the shape that clients see, with as many bytes.
inline bool OutputCheck::is_as_expected(const OutputTensor& output, const Expected& expected) noexcept {
  const size_t rank = expected.shape.size();
  if (output.datatype != expected.datatype || output.shape.size() != rank || !expected.has_shape)
    return false;
  uint64_t bytes = expected.element_bytes;
  for (size_t i = 0; i < rank; ++i) {
    const int64_t size = output.shape[i];
    if (expected.shape[i] >= 0 && size != expected.shape[i]) return false;
    if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(size), &bytes)) return false;
  }
  return expected.element_bytes == 0 || bytes == output.buffer.size_bytes;
}

/// What was asked for, in that order, is there and nothing else. Every answer goes through here.
inline bool OutputCheck::is_right(const Response& response,
                                  std::span<const RequestedOutput> wanted) const noexcept {
  if (response.outputs.size() != wanted.size()) return false;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const OutputTensor& output = response.outputs[i];
    const auto index = static_cast<size_t>(wanted[i].spec_index);
    if (index >= expected_.size() || !is_same_name(wanted[i].name, output.name)) return false;
    if (!is_as_expected(output, expected_[index])) return false;
  }
  return true;
}

namespace {

/// In the request's arena, which also holds what was asked for.
class WatchedSink final : public SinkInterposer {
 public:
  WatchedSink(OutputCheck* check, std::span<const RequestedOutput> wanted) noexcept
      : check_(check), wanted_(wanted) {}

  void send(Response* response, uint32_t flags) noexcept override {
    if (response != nullptr) check_->look(*response, wanted_);
    SinkInterposer::send(response, flags);
  }

 private:
  OutputCheck* check_;
  std::span<const RequestedOutput> wanted_;
};

bool is_such_shape(std::span<const int64_t> shape, const std::vector<int64_t>& expected) noexcept {
  return std::equal(shape.begin(), shape.end(), expected.begin(), expected.end(),
                    [](int64_t size, int64_t wanted) { return wanted < 0 || size == wanted; });
}

std::vector<int64_t> with_batch(std::vector<int64_t> dims, bool batches) {
  if (batches) dims.insert(dims.begin(), -1);
  return dims;
}

/// Nothing: elements of this type have no size of their own, or there are too many.
std::optional<uint64_t> bytes_of(const OutputTensor& output) noexcept {
  const uint64_t size = data_type_size_bytes(output.datatype);
  const std::optional<int64_t> count = element_count(output.shape);
  uint64_t bytes = 0;
  if (size == 0 || !count || __builtin_mul_overflow(static_cast<uint64_t>(*count), size, &bytes))
    return std::nullopt;
  return bytes;
}

}  // namespace

OutputCheck::OutputCheck(const ModelInfo& info, std::string_view instance, Log& log, const Clock& clock)
    : log_(log),
      clock_(clock),
      subject_(cat("model '", info.name, "' version ", info.version, ", instance '", instance, "'")),
      decoupled_(info.decoupled),
      expected_(info.outputs.size()) {
  for (size_t i = 0; i < info.outputs.size(); ++i) {
    const TensorSpec& output = info.outputs[i];
    Expected& expected = expected_[i];
    expected.name = output.name;
    expected.datatype = output.datatype;
    expected.element_bytes = data_type_size_bytes(output.datatype);
    expected.shape = with_batch(output.dims, info.max_batch_size != 0);
    expected.backend_shape = with_batch(output.backend_dims(), info.max_batch_size != 0);
    expected.has_shape = !output.shape_tensor;
  }
}

void OutputCheck::watch(Request& request) noexcept {
  if ((request.call_flags & kShadow) != 0) return;
  // An iterative sequence executes its request again and again.
  if (request.rescheduler != nullptr && SinkInterposer::find<WatchedSink>(request) != nullptr) return;
  request.arena().make<WatchedSink>(this, request.outputs.span())->interpose(request);
}

void OutputCheck::unwatch(Request& request) noexcept {
  if (auto* watched = dynamic_cast<WatchedSink*>(request.sink); watched != nullptr)
    watched->withdraw(request);
}

void OutputCheck::look_at_failure(const Response& response) noexcept {
  if (response.error.code() == Code::kInternal) warn(failed_, "a request failed: ", response.error.message());
}

void OutputCheck::look_closer(Response& response, std::span<const RequestedOutput> wanted) noexcept {
  size_t in_place = 0;
  for (size_t i = 0; i < response.outputs.size(); ++i) {
    const OutputTensor& output = response.outputs[i];
    if (i < wanted.size() && is_same_name(wanted[i].name, output.name)) ++in_place;
    Expected* expected = find(output.name, i);
    if (expected == nullptr) {
      warn(unknown_, "a response has output '", output.name,
           "', which is not in the model's configuration; nobody gets it");
    } else {
      Status unreadable = report_differences(output, *expected);
      if (!unreadable.ok() && response.error.ok()) response.error = std::move(unreadable);
    }
  }
  if (in_place != wanted.size() && !decoupled_) look_for_missing(response, wanted);
  if (in_place != response.outputs.size()) look_for_repeated(response);
}

OutputCheck::Expected* OutputCheck::find(std::string_view name, size_t guess) noexcept {
  if (guess < expected_.size() && expected_[guess].name == name) return &expected_[guess];
  for (Expected& expected : expected_) {
    if (expected.name == name) return &expected;
  }
  return nullptr;
}

Status OutputCheck::report_differences(const OutputTensor& output, Expected& expected) noexcept {
  if (output.datatype != expected.datatype) {
    warn(expected.type, "output '", expected.name, "' has type ", data_type_name(output.datatype),
         ", and its configuration says ", data_type_name(expected.datatype), "; clients get it as it is");
  }
  if (expected.has_shape && !is_such_shape(output.shape, expected.shape) &&
      !is_such_shape(output.shape, expected.backend_shape)) {
    warn(expected.dims, "output '", expected.name, "' has the shape ", shape_text(output.shape),
         ", which does not fit the ", shape_text(expected.shape),
         " of its configuration; clients get it as it is");
  }
  const std::optional<uint64_t> bytes = bytes_of(output);
  if (!bytes || *bytes == output.buffer.size_bytes) return {};
  const std::string what =
      cat("output '", expected.name, "' of type ", data_type_name(output.datatype), " and shape ",
          shape_text(output.shape), " has ", output.buffer.size_bytes, " bytes, its shape asks for ", *bytes);
  warn(expected.bytes, what);
  return internal_error(what);
}

void OutputCheck::look_for_missing(const Response& response,
                                   std::span<const RequestedOutput> wanted) noexcept {
  for (const RequestedOutput& one : wanted) {
    const bool is_there =
        std::any_of(response.outputs.begin(), response.outputs.end(),
                    [&](const OutputTensor& output) { return is_same_name(output.name, one.name); });
    Expected* expected = is_there ? nullptr : find(one.name, static_cast<size_t>(one.spec_index));
    if (expected != nullptr)
      warn(expected->missing, "a request was answered without output '", one.name, "' that was asked for");
  }
}

void OutputCheck::look_for_repeated(const Response& response) noexcept {
  const std::span<const OutputTensor> outputs = response.outputs.span();
  for (size_t i = 1; i < outputs.size(); ++i) {
    const bool is_repeated =
        std::any_of(outputs.begin(), outputs.begin() + static_cast<std::ptrdiff_t>(i),
                    [&](const OutputTensor& before) { return is_same_name(before.name, outputs[i].name); });
    Expected* expected = is_repeated ? find(outputs[i].name, i) : nullptr;
    if (expected != nullptr)
      warn(expected->twice, "a response has output '", expected->name,
           "' more than once; clients get an error");
  }
}

template <class... Parts>
void OutputCheck::warn(LogInterval& interval, const Parts&... parts) noexcept {
  const std::optional<uint64_t> left_out = interval.next(clock_.now_ns());
  if (!left_out) return;
  log_.warning(
      subject_, ": ", parts...,
      *left_out == 0 ? std::string() : cat(" (and ", *left_out, " times more that were not logged)"));
}

}  // namespace atl::models
