#include "repositories/s3/store_listing.h"

#include <algorithm>
#include <set>
#include <utility>

#include "atoll/core/text.h"
#include "atoll/core/utf8.h"
#include "atoll/lib/checked_document.h"
#include "atoll/lib/json_writer.h"
#include "repositories/common/names.h"
#include "repositories/s3/request_signer.h"

namespace atl::s3 {
namespace {

constexpr size_t kNameBytesMax = 255;
constexpr size_t kIgnoredMax = 20;
constexpr int kStampDigits = 16;

/// Why there can be no file of this path below a model's folder; empty: there can.
std::string path_problem(std::string_view path) {
  size_t depth = 0;
  while (true) {
    const size_t slash = path.find('/');
    const std::string_view part = path.substr(0, slash);
    if (part.empty() || part == "." || part == "..") return "has a part that is empty, '.' or '..'";
    if (part.size() > kNameBytesMax) return cat("has a part of more than ", kNameBytesMax, " bytes");
    if (part.find('\0') != std::string_view::npos) return "has a NUL";
    if (++depth > kFolderDepthMax) return cat("is more than ", kFolderDepthMax, " folders deep");
    if (slash == std::string_view::npos) return {};
    path.remove_prefix(slash + 1);
  }
}

/// A key below the model's folder.
void add_to_model(const StoreObject& object, std::string_view path, StoreModel& model) {
  if (path.empty()) return;  // the folder itself
  const bool is_folder = path.ends_with('/');
  if (is_folder) path.remove_suffix(1);
  if (const std::string problem = path_problem(path); !problem.empty()) {
    if (model.problem.empty()) {
      model.problem = cat("the key '", replace_invalid_utf8(object.key), "' cannot be a file: it ", problem);
    }
    return;
  }
  if (is_folder) {
    model.folders.emplace_back(path);
    return;
  }
  model.objects.push_back({std::string(path), object.etag, object.modified, object.size});
  model.bytes = model.bytes > UINT64_MAX - object.size ? UINT64_MAX : model.bytes + object.size;
}

/// A path cannot be a file and a folder, nor twice a file.
void check_paths(StoreModel& model) {
  std::sort(model.objects.begin(), model.objects.end(),
            [](const ModelObject& a, const ModelObject& b) { return a.path < b.path; });
  std::set<std::string_view> files;
  for (const ModelObject& object : model.objects) {
    if (files.insert(object.path).second || !model.problem.empty()) continue;
    model.problem = cat("the store lists '", object.path, "' twice");
  }
  const auto check = [&](std::string_view path) {
    for (size_t slash = path.find('/'); slash != std::string_view::npos; slash = path.find('/', slash + 1)) {
      if (!files.contains(path.substr(0, slash)) || !model.problem.empty()) continue;
      model.problem = cat("'", path.substr(0, slash), "' is an object and a folder");
    }
  };
  for (const ModelObject& object : model.objects) check(object.path);
  for (const std::string& folder : model.folders) check(folder + "/");
}

}  // namespace

std::string StoreModel::identity(std::string_view place) const {
  std::string text = cat(place, "\n");
  for (const ModelObject& object : objects) {
    text += cat(object.path, '\0', object.etag, '\0', object.size, "\n");
  }
  for (const std::string& folder : folders) text += cat(folder, "/\n");
  return sha256_hex(text);
}

std::vector<RepositoryStamp> StoreModel::stamps(std::string_view config) const {
  std::map<std::string, std::string, std::less<>> texts;
  std::set<std::string, std::less<>> directories;
  const auto add = [&](const std::string& path, const std::string& line, bool is_folder) {
    const size_t slash = path.find('/');
    const std::string name = path.substr(0, slash);
    texts[name] += line;
    if (slash != std::string::npos || is_folder) directories.insert(name);
  };
  for (const ModelObject& object : objects) {
    add(object.path, cat(object.path, '\0', object.etag, '\0', object.modified, '\0', object.size, "\n"),
        false);
  }
  for (const std::string& folder : folders) add(folder, cat(folder, "/\n"), true);
  std::vector<RepositoryStamp> stamps;
  for (const auto& [name, text] : texts) {
    RepositoryStamp stamp{.name = name};
    const auto version = filesystem::parse_version(name);
    if (version && directories.contains(name)) {
      stamp.part = RepositoryStamp::Part::kVersion;
      stamp.version = *version;
    } else if (name == config) {
      stamp.part = RepositoryStamp::Part::kConfiguration;
    }
    stamp.value = std::stoull(sha256_hex(text).substr(0, kStampDigits), nullptr, 16);
    stamps.push_back(std::move(stamp));
  }
  return stamps;
}

bool StoreModel::has(std::string_view path) const {
  return std::any_of(objects.begin(), objects.end(),
                     [&](const ModelObject& object) { return object.path == path; });
}

std::string StoreListing::to_json() const {
  CheckedBuffer buffer;
  CheckedWriter writer(buffer);
  write_array(writer, objects, [&](const StoreObject& object) {
    writer.StartArray();
    write_text(writer, object.key);
    write_text(writer, object.etag);
    write_text(writer, object.modified);
    writer.Uint64(object.size);
    writer.EndArray();
  });
  return std::string(buffer.GetString(), buffer.GetSize());
}

ListingBuilder::ListingBuilder(std::string prefix, size_t objects_max)
    : prefix_(prefix.empty() ? "" : std::move(prefix) + "/"), objects_max_(objects_max) {}

Status ListingBuilder::add(ListingPage page) {
  if (!page.next.empty() && (page.next == last_token_ || page.objects.empty())) {
    return invalid_argument("the store gives the same page for ever");
  }
  last_token_ = std::move(page.next);
  if (objects_.size() + page.objects.size() > objects_max_) {
    return make_status(Code::kResourceExhausted, "found more than ", objects_max_,
                       " objects, as many as the option 'objects_max' allows");
  }
  for (StoreObject& object : page.objects) {
    if (!object.key.starts_with(prefix_)) {
      return invalid_argument("the store lists the key '", replace_invalid_utf8(object.key),
                              "', which is not below '", prefix_, "'");
    }
    objects_.push_back(std::move(object));
  }
  return {};
}

void ListingBuilder::reset() {
  objects_.clear();
  last_token_.clear();
}

StoreListing ListingBuilder::finish() {
  StoreListing listing;
  for (const StoreObject& object : objects_) {
    const std::string_view below = std::string_view(object.key).substr(prefix_.size());
    const size_t slash = below.find('/');
    const std::string_view name = below.substr(0, slash);
    if (slash == std::string_view::npos) continue;
    if (const Status status = filesystem::check_model_name(name); !status.ok()) {
      if (name.starts_with('.') && name != "." && name != "..") continue;
      if (listing.ignored.size() < kIgnoredMax) {
        listing.ignored.push_back(
            cat("the key '", replace_invalid_utf8(object.key), "' belongs to no model: ", status.message()));
      }
      continue;
    }
    auto model = listing.models.find(name);
    if (model == listing.models.end()) model = listing.models.emplace(std::string(name), StoreModel()).first;
    add_to_model(object, below.substr(slash + 1), model->second);
  }
  for (auto& [name, model] : listing.models) check_paths(model);
  listing.objects = std::move(objects_);
  reset();
  return listing;
}

Result<StoreListing> parse_kept_listing(const std::string& json, const std::string& prefix,
                                        size_t objects_max) {
  CheckedDocument document;
  document.Parse<rapidjson::kParseIterativeFlag>(json.data(), json.size());
  if (document.HasParseError() || !document.IsArray()) return invalid_argument("found no kept listing");
  ListingPage page;
  for (const CheckedValue& row : document.GetArray()) {
    const bool is_object = row.IsArray() && row.Size() == 4 && row[0].IsString() && row[1].IsString() &&
                           row[2].IsString() && row[3].IsUint64();
    if (!is_object) return invalid_argument("found no kept listing");
    const auto text = [&](rapidjson::SizeType i) {
      return std::string(row[i].GetString(), row[i].GetStringLength());
    };
    page.objects.push_back({text(0), text(1), text(2), row[3].GetUint64()});
  }
  ListingBuilder builder(prefix, objects_max);
  ATOLL_RETURN_IF_ERROR(builder.add(std::move(page)));
  return builder.finish();
}

}  // namespace atl::s3
