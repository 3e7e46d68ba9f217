#include "backends/cuda/code/triton_import.h"

#include <limits>
#include <nlohmann/json.hpp>

#include "atoll/core/text.h"
#include "backends/cuda/code/version_file.h"
#include "backends/cuda/pipeline/pipeline.h"

namespace atl::cuda_backend {
namespace {

using nlohmann::json;

constexpr int kJsonNestingMax = 64;
constexpr uint32_t kWarpThreads = 32;
constexpr uint32_t kWarpsMax = 32;

/// The library recurses; no text of a compiler is nested like that.
bool is_nested_too_deeply(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char sign = text[i];
    if (in_string) {
      if (sign == '\\') ++i;
      in_string = sign != '"';
    } else if (sign == '"') {
      in_string = true;
    } else if (sign == '[' || sign == '{') {
      if (++depth > kJsonNestingMax) return true;
    } else if (sign == ']' || sign == '}') {
      --depth;
    }
  }
  return false;
}

/// The fields of one file. The first mistake is kept.
class Fields {
 public:
  Fields(const json& object, std::string file) : object_(object), file_(std::move(file)) {}

  uint64_t number(const char* key, uint64_t otherwise, uint64_t most) {
    const json* value = find(key);
    if (value == nullptr) return otherwise;
    if (value->is_number_unsigned() && value->get<uint64_t>() <= most) return value->get<uint64_t>();
    wrong(key, cat("a whole number up to ", most));
    return otherwise;
  }
  bool flag(const char* key) {
    const json* value = find(key);
    if (value != nullptr && !value->is_boolean()) wrong(key, "true or false");
    return value != nullptr && value->is_boolean() && value->get<bool>();
  }
  std::string text(const char* key) {
    const json* value = find(key);
    if (value != nullptr && value->is_string()) return value->get<std::string>();
    wrong(key, "a string");
    return {};
  }
  /// Null: there is none.
  const json* find(const char* key) const {
    const auto found = object_.find(key);
    return found == object_.end() || found->is_null() ? nullptr : &*found;
  }
  void wrong(const char* key, std::string_view expected) {
    if (!status_.ok()) return;
    const json* value = find(key);
    const std::string found = value == nullptr
                                  ? std::string("nothing")
                                  : value->dump(-1, ' ', true, json::error_handler_t::replace).substr(0, 100);
    status_ = invalid_argument(file_, ": ", key, ": found ", found, ", expected ", expected);
  }
  Status status() { return std::move(status_); }

 private:
  const json& object_;
  std::string file_;
  Status status_;
};

bool is_empty(const json* value) { return value == nullptr || value->empty(); }

/// The capability; 0: it is for another kind of device.
int32_t target_of(Fields& fields) {
  const json* target = fields.find("target");
  if (target != nullptr && target->is_object()) {
    const auto backend = target->find("backend"), arch = target->find("arch"),
               warp = target->find("warp_size");
    constexpr uint64_t kMost = 999;
    if (backend != target->end() && *backend == "cuda" && arch != target->end() &&
        arch->is_number_unsigned() && arch->get<uint64_t>() <= kMost &&
        (warp == target->end() || *warp == kWarpThreads))
      return arch->get<int32_t>();
  }
  fields.wrong("target", R"({"backend":"cuda","arch":90,"warp_size":32} or the like)");
  return 0;
}

void refuse_what_can_not_run(Fields& fields) {
  if (fields.number("num_ctas", 1, std::numeric_limits<uint32_t>::max()) != 1)
    fields.wrong("num_ctas", "1: clusters of blocks are not served");
  const json* clusters = fields.find("cluster_dims");
  if (!is_empty(clusters) && *clusters != json({1, 1, 1}))
    fields.wrong("cluster_dims", "[1,1,1]: clusters of blocks are not served");
  for (const char* key : {"tensordesc_meta", "tensordesc"}) {
    if (!is_empty(fields.find(key))) fields.wrong(key, "none: tensor descriptors are not served");
  }
}

}  // namespace

Result<TritonKernel> parse_triton_json(std::string_view text, const std::string& name) noexcept {
  const std::string file = name + ".json";
  if (is_nested_too_deeply(text))
    return invalid_argument(file, ": is nested deeper than ", kJsonNestingMax, " levels");
  const json parsed = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!parsed.is_object())
    return invalid_argument(file,
                            ": found no JSON object, expected what the Triton language's compiler writes");
  constexpr uint64_t kScratchMax = uint64_t{1} << 40;
  Fields fields(parsed, file);
  TritonKernel kernel;
  kernel.name = name;
  kernel.function = fields.text("name");
  kernel.capability = target_of(fields);
  const auto warps = static_cast<uint32_t>(fields.number("num_warps", 0, kWarpsMax));
  if (warps == 0) fields.wrong("num_warps", cat("a whole number from 1 to ", kWarpsMax));
  kernel.threads = kWarpThreads * warps;
  kernel.shared_bytes =
      static_cast<uint32_t>(fields.number("shared", 0, std::numeric_limits<int32_t>::max()));
  kernel.cooperative = fields.flag("launch_cooperative_grid");
  kernel.global_scratch_bytes = fields.number("global_scratch_size", 0, kScratchMax);
  kernel.profile_scratch_bytes = fields.number("profile_scratch_size", 0, kScratchMax);
  fields.number("global_scratch_align", 1, kScratchAlignment);
  fields.number("profile_scratch_align", 1, kScratchAlignment);
  refuse_what_can_not_run(fields);
  ATOLL_RETURN_IF_ERROR(fields.status());
  if (kernel.function.empty()) return invalid_argument(file, ": name: found an empty string");
  return kernel;
}

Result<TritonKernel> read_triton_kernel(const std::string& version_directory,
                                        const std::string& name) noexcept {
  Result<std::string> text = read_version_file(version_directory, name + ".json", kTritonJsonBytesMax);
  if (!text.ok()) return std::move(text).status();
  return parse_triton_json(*text, name);
}

}  // namespace atl::cuda_backend
