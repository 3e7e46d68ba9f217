#include "discovery.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <system_error>

#include "atoll/core/text.h"
#include "atoll/core/utf8.h"
#include "atoll/runtime/escape.h"
#include "model_text.h"
#include "repositories/common/names.h"

namespace atl::serve {
namespace {

namespace fs = std::filesystem;

constexpr size_t kEntriesMax = 10'000;
constexpr size_t kNameBytesMax = 128;

struct Entry {
  std::string name;
  fs::path path;  ///< as found
  fs::path real;  ///< empty: a link that leads nowhere
  fs::file_type type = fs::file_type::none;
};

Entry entry_of(const fs::path& path) {
  std::error_code error;
  Entry entry{path.filename().string(), path, fs::canonical(path, error), fs::file_type::none};
  if (error) entry.real.clear();
  entry.type = fs::status(path, error).type();
  return entry;
}

/// Ordered by name; hidden ones are left out.
Result<std::vector<Entry>> entries_of(const fs::path& folder) {
  std::vector<Entry> entries;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->path().filename().string().starts_with('.')) continue;
    if (entries.size() == kEntriesMax)
      return invalid_argument(folder.string(), ": found more than ", kEntriesMax,
                              " entries, which is no folder of models");
    entries.push_back(entry_of(entry->path()));
  }
  if (error) return invalid_argument(folder.string(), ": cannot be read: ", error.message());
  std::ranges::sort(entries, {}, &Entry::name);
  return entries;
}

bool has(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

/// Whether a folder holds folders whose names are versions, and one of them a file that is a model's.
struct VersionFolders {
  bool any = false;
  bool with_model = false;
};

VersionFolders versions_in(const fs::path& folder) {
  VersionFolders found;
  std::error_code error, inner;
  size_t looked_at = 0;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (++looked_at > kEntriesMax) break;
    if (!filesystem::parse_version(entry->path().filename().string()) || !entry->is_directory(inner))
      continue;
    found.any = true;
    for (fs::directory_iterator file(entry->path(), inner), last; !inner && file != last;
         file.increment(inner))
      found.with_model = found.with_model || is_version_file(file->path().filename().string());
  }
  return found;
}

bool is_configured(const fs::path& folder) { return has(folder / "config.pbtxt") || has(folder / "configs"); }

const ModelKind* kind_of_folder(const fs::path& folder) {
  const auto kinds = model_kinds();
  const auto found = std::ranges::find_if(
      kinds, [&](const ModelKind& kind) { return kind.ending.empty() && has(folder / kind.marker); });
  return found == kinds.end() ? nullptr : &*found;
}

std::string endings_text() {
  std::string text;
  for (const ModelKind& kind : model_kinds()) {
    if (!kind.ending.empty()) text += cat(text.empty() ? "" : ", ", kind.ending);
  }
  return text;
}

std::string configuration_hint(const std::string& name) {
  return cat(
      "TorchScript does not say what its inputs and outputs are: move it to ", name, "/1/model.pt and write ",
      name,
      "/config.pbtxt, such as  backend: \"pytorch\" input [ { name: \"INPUT__0\" data_type: TYPE_FP32 dims: [ -1, "
      "4 ] } ] output [ { name: \"OUTPUT__0\" data_type: TYPE_FP32 dims: [ -1, 2 ] } ]");
}

class Look {
 public:
  explicit Look(const BackendRefusal& refusal) : refusal_(refusal) {}

  Result<Discovery> run(const fs::path& path) {
    std::error_code error;
    const fs::path real = fs::canonical(path, error);
    if (error) return not_found(path.string(), ": ", error.message());
    if (!is_utf8(real.string())) return invalid_argument(path.string(), ": its path is no UTF-8 text");
    const Entry entry = entry_of(real);
    if (entry.type != fs::file_type::directory) {
      found_.folder = real.parent_path();
      ATOLL_RETURN_IF_ERROR(read_siblings());
      take_file(entry_of(fs::absolute(path)));
      return std::move(found_);
    }
    found_.folder = real;
    if (has(real / "config.pbtxt") || versions_in(real).with_model || kind_of_folder(real) != nullptr) {
      take_folder(entry);
      return std::move(found_);
    }
    ATOLL_RETURN_IF_ERROR(read_siblings());
    bool all_models = true;
    for (const Entry& one : siblings_) {
      if (one.type == fs::file_type::directory) all_models = take_folder(one) && all_models;
    }
    for (const ModelKind& kind : model_kinds()) take_files(&kind);
    take_files(nullptr);
    found_.is_repository = all_models && !found_.folders.empty();
    return std::move(found_);
  }

 private:
  template <class... Parts>
  void refuse(std::string_view name, const Parts&... parts) {
    std::string line;
    runtime::append_escaped(line, cat(name, ": not served: ", parts...));
    found_.remarks.push_back(std::move(line));
  }

  Status read_siblings() {
    auto entries = entries_of(found_.folder);
    if (!entries.ok()) return std::move(entries).status();
    siblings_ = std::move(entries).value();
    return {};
  }

  /// \returns whether it is a model's folder
  bool take_folder(const Entry& entry) {
    if (::access(entry.real.c_str(), R_OK | X_OK) != 0) {
      refuse(entry.name, "it cannot be read: ", std::generic_category().message(errno));
      return false;
    }
    if (is_configured(entry.real) || versions_in(entry.real).any) {
      if (Status name = filesystem::check_model_name(entry.name); !name.ok()) {
        refuse(entry.name, name.message());
        return false;
      }
      names_.emplace(entry.name, entry.name);
      found_.folders.push_back({entry.name, entry.real});
      return true;
    }
    if (const ModelKind* kind = kind_of_folder(entry.real)) {
      add(entry, *kind, fs::path(entry.name));
    } else {
      refuse(entry.name, "the folder has neither config.pbtxt nor a folder of a version, such as 1");
    }
    return false;
  }

  void take_files(const ModelKind* kind) {
    for (const Entry& entry : siblings_) {
      if (entry.type == fs::file_type::directory || kind_of_file(entry.name) != kind) continue;
      if (kind == nullptr && is_companion(entry.name)) continue;
      take_file(entry);
    }
  }

  void take_file(const Entry& entry) {
    const ModelKind* kind = kind_of_file(entry.name);
    if (entry.type != fs::file_type::regular) {
      refuse(entry.name, entry.real.empty() ? "a link that leads nowhere" : "it is no regular file");
    } else if (entry.name.ends_with(".pt") || entry.name.ends_with(".pth")) {
      refuse(entry.name, configuration_hint(model_name_of(fs::path(entry.name).stem().string())));
    } else if (kind == nullptr) {
      refuse(entry.name, "its name ends in none of ", endings_text());
    } else if (::access(entry.real.c_str(), R_OK) != 0) {
      refuse(entry.name, "it cannot be read: ", std::generic_category().message(errno));
    } else if (kind->ending == ".py" && !defines_python_model(text_of(entry.real))) {
      refuse(entry.name, "it defines no class TritonPythonModel");
    } else if (kind->ending == ".xml" && !is_openvino_text(text_of(entry.real))) {
      refuse(entry.name, "it is no model of OpenVINO, which begins with <net");
    } else {
      add(entry, *kind, fs::path(entry.name).stem());
    }
  }

  void add(const Entry& entry, const ModelKind& kind, const fs::path& stem) {
    if (std::string refusal = refusal_(kind.backend); !refusal.empty()) {
      refuse(entry.name, refusal);
      return;
    }
    std::string name = model_name_of(stem.string());
    const auto [other, is_new] = names_.emplace(name, entry.name);
    if (!is_new) {
      refuse(entry.name, "its model would be called ", name, ", as that of ", other->second,
             " is; rename one of them");
      return;
    }
    LooseModel model{std::move(name), entry.real, &kind, {{std::string(kind.file), entry.real}}};
    for (const Entry& sibling : siblings_) {
      if (belongs_to(sibling.name, entry.name, kind) && sibling.type == fs::file_type::regular)
        model.files.push_back({sibling.name == cat(stem.string(), kind.companion)
                                   ? std::string(kind.companion_file)
                                   : sibling.name,
                               sibling.real});
    }
    found_.loose.push_back(std::move(model));
  }

  /// What is beside a file as a part of it: net.bin of net.xml, and net.onnx.data or net.onnx_data of net.onnx.
  static bool belongs_to(std::string_view name, std::string_view file, const ModelKind& kind) {
    if (kind.ending.empty()) return false;
    const std::string_view stem = file.substr(0, file.size() - kind.ending.size());
    if (!kind.companion.empty() && name == cat(stem, kind.companion)) return true;
    return kind.ending == ".onnx" && kind_of_file(name) == nullptr &&
           (name.starts_with(cat(file, ".")) || name.starts_with(cat(file, "_")) ||
            name == cat(stem, ".data"));
  }
  bool is_companion(std::string_view name) const {
    return std::ranges::any_of(siblings_, [&](const Entry& file) {
      const ModelKind* kind = kind_of_file(file.name);
      return kind != nullptr && belongs_to(name, file.name, *kind);
    });
  }

  const BackendRefusal& refusal_;
  Discovery found_;
  std::vector<Entry> siblings_;
  std::map<std::string, std::string> names_;  // of models, and what has the name
};

}  // namespace

Result<Discovery> discover(const fs::path& path, const BackendRefusal& refusal) {
  return Look(refusal).run(path);
}

std::string model_name_of(std::string_view stem) {
  std::string name;
  for (const char c : stem.substr(0, kNameBytesMax)) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                          c == '-' || c == '_' || (c == '.' && !name.empty());
    if (is_plain) {
      name += c;
    } else if (!name.ends_with('_')) {
      name += '_';
    }
  }
  return name.empty() ? "model" : name;
}

}  // namespace atl::serve
