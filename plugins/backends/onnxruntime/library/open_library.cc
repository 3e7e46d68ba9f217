#include "backends/onnxruntime/library/open_library.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "atoll/core/text.h"

namespace atl::ort {
namespace {

constexpr size_t kVersionBytesMax = 64;

/// What a library says of itself, as far as it belongs into a line of a log.
std::string plain_version(const char* text) {
  std::string version;
  for (; text != nullptr && *text > ' ' && *text <= '~' && version.size() < kVersionBytesMax; ++text)
    version += *text;
  return version.empty() ? "without a version" : version;
}

/// Whether a version is known to be older. Asked before the API level, because a library that does not have the level says so on
/// standard error, past the log.
bool is_older(std::string_view version) {
  constexpr std::string_view kMajor = "1.";
  if (version.starts_with("0.")) return true;
  if (!version.starts_with(kMajor)) return false;
  const std::string_view digits = version.substr(kMajor.size());
  uint32_t minor = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), minor);
  return error == std::errc() && minor < ORT_API_VERSION;
}

}  // namespace

std::string way_to_get_one() { return cat("to get one: pip install 'onnxruntime>=1.", ORT_API_VERSION, "'"); }

Result<OpenLibrary> open_library(const std::string& file) noexcept {
  auto object = runtime::SharedObject::open(file);
  if (!object.ok()) return std::move(object).status();
  using Entry = const OrtApiBase* (*)() noexcept;
  const auto entry = reinterpret_cast<Entry>(object->symbol("OrtGetApiBase"));
  const OrtApiBase* const base = entry == nullptr ? nullptr : entry();
  if (base == nullptr)
    return make_status(Code::kFailedPrecondition, file, ": found no OrtGetApiBase, expected ONNX Runtime");
  std::string version = plain_version(base->GetVersionString());
  const OrtApi* const api = is_older(version) ? nullptr : base->GetApi(ORT_API_VERSION);
  if (api == nullptr) {
    return make_status(Code::kFailedPrecondition, file, ": found ONNX Runtime ", version, ", expected 1.",
                       ORT_API_VERSION, " or newer");
  }
  return OpenLibrary{std::move(object).value(), api, file, std::move(version)};
}

}  // namespace atl::ort
