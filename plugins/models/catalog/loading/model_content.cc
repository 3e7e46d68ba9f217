#include "models/catalog/loading/model_content.h"

#include <fcntl.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "atoll/core/file_descriptor.h"
#include "atoll/core/text.h"
#include "atoll/lib/hex.h"
#include "model_config.pb.h"

// Its functions here, and not those of a library that a backend might bring too.
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace atl::models {
namespace {

namespace fs = std::filesystem;

constexpr size_t kReadBytes = size_t{1} << 20;
constexpr std::string_view kConfigFile = "config.pbtxt";
constexpr std::string_view kCompiledPython = "__pycache__";

class Hash {
 public:
  Hash() noexcept { XXH3_128bits_reset(&state_); }
  void add(const void* data, size_t bytes) noexcept { (void)XXH3_128bits_update(&state_, data, bytes); }
  void add(std::string_view text) noexcept {
    const uint64_t size = text.size();
    add(&size, sizeof size);
    add(text.data(), text.size());
  }
  std::string text() const {
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(&state_));
    return hex(canonical.digest);
  }

 private:
  XXH3_state_t state_;
};

/// Without what decides where and when the model executes.
void add_config(inference::ModelConfig config, Hash& hash) {
  config.clear_instance_group();
  config.clear_version_policy();
  config.clear_dynamic_batching();
  config.clear_model_warmup();
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    (void)config.SerializeToCodedStream(&coded);
  }
  hash.add(bytes);
}

bool add_file(const std::string& path, uint64_t size_bytes, std::string& buffer, Hash& hash) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.valid()) return false;
  hash.add(&size_bytes, sizeof size_bytes);
  while (true) {
    const ssize_t got = ::read(file.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return false;
    if (got == 0) return true;
    hash.add(buffer.data(), static_cast<size_t>(got));
  }
}

bool is_version(const std::string& name) {
  return std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

bool ModelContent::stat_file(const std::string& directory, File& file) {
  struct stat found = {};
  if (::stat(cat(directory, "/", file.name).c_str(), &found) != 0) return false;
  const auto ns = [](const timespec& time) { return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec; };
  file.size = static_cast<uint64_t>(found.st_size);
  file.inode = found.st_ino;
  file.modified_ns = ns(found.st_mtim);
  file.changed_ns = ns(found.st_ctim);
  return true;
}

ModelContent ModelContent::look(const std::string& model_directory, const std::string& version_directory) {
  ModelContent content;
  content.directory_ = model_directory;
  std::error_code failure;
  fs::recursive_directory_iterator entry(model_directory, fs::directory_options::follow_directory_symlink,
                                         failure);
  for (; !failure && entry != fs::recursive_directory_iterator(); entry.increment(failure)) {
    const std::string name = entry->path().filename();
    if (entry->is_directory(failure)) {
      const bool is_other_version = entry.depth() == 0 && is_version(name) &&
                                    !fs::equivalent(entry->path(), version_directory, failure);
      if (is_other_version || name == kCompiledPython) entry.disable_recursion_pending();
      continue;
    }
    if (!entry->is_regular_file(failure) || (entry.depth() == 0 && name == kConfigFile)) continue;
    File file;
    file.name = entry->path().lexically_relative(model_directory);
    if (!stat_file(model_directory, file)) return content;
    content.files_.push_back(std::move(file));
  }
  std::sort(content.files_.begin(), content.files_.end(),
            [](const File& a, const File& b) { return a.name < b.name; });
  content.known_ = !failure;
  return content;
}

std::string ModelContent::id(const inference::ModelConfig& config) const {
  if (!known_) return {};
  Hash hash;
  add_config(config, hash);
  std::string buffer(kReadBytes, '\0');
  for (const File& file : files_) {
    hash.add(file.name);
    if (!add_file(cat(directory_, "/", file.name), file.size, buffer, hash)) return {};
    File now;
    now.name = file.name;
    if (!stat_file(directory_, now) || now != file) return {};
  }
  return hash.text();
}

std::string ensemble_content_id(const inference::ModelConfig& config, std::span<Model* const> members) {
  Hash hash;
  add_config(config, hash);
  for (const Model* member : members) {
    if (member->info().content_id.empty()) return {};
    hash.add(member->info().content_id);
  }
  return hash.text();
}

}  // namespace atl::models
