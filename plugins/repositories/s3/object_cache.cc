#include "repositories/s3/object_cache.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "atoll/core/text.h"
#include "repositories/s3/cache_files.h"
#include "repositories/s3/request_signer.h"

namespace atl::s3 {
namespace {

namespace fs = std::filesystem;
constexpr mode_t kObjectMode = 0444;
constexpr mode_t kPartMode = 0644;
constexpr std::uintmax_t kListingBytesMax = uint64_t{256} << 20;

bool has_size(const std::string& path, uint64_t size) noexcept {
  struct stat info = {};
  return ::lstat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
         static_cast<uint64_t>(info.st_size) == size;
}

/// Whether all of it is there, in the right size.
bool is_whole(const std::string& folder, const StoreModel& model) {
  return std::all_of(model.objects.begin(), model.objects.end(), [&](const ModelObject& object) {
    return has_size(cat(folder, "/", object.path), object.size);
  });
}

void touch(int file) noexcept { ::futimens(file, nullptr); }

Status link_file(const std::string& from, const std::string& to) {
  if (::link(from.c_str(), to.c_str()) == 0 || errno == EEXIST) return {};
  return disk_failure(to);
}

void remove_tree(const std::string& path) {
  std::error_code ignored;
  fs::remove_all(path, ignored);
}

/// Removes drafts of models whose maker, a server that downloads, has ended.
void remove_stale_drafts(const std::string& staging) {
  std::error_code failure;
  for (fs::directory_iterator entry(staging, failure); !failure && entry != fs::directory_iterator();
       entry.increment(failure)) {
    if (!entry->is_directory(failure)) continue;
    const std::string path = entry->path().string();
    const Result<FileDescriptor> lock = lock_file(path + ".lock", LOCK_EX | LOCK_NB);
    if (lock.ok() && lock.value().valid()) remove_tree(path);
  }
}

}  // namespace

Result<std::shared_ptr<ObjectCache>> ObjectCache::open(const std::string& directory, uint64_t bytes_max) {
  for (const char* folder : {"objects", "models", "parts", "staging", "listings"}) {
    ATOLL_RETURN_IF_ERROR(make_folders(cat(directory, "/", folder)));
  }
  std::error_code failure;
  const std::string absolute = fs::canonical(directory, failure).string();
  if (failure) return unavailable(directory, ": ", failure.message());
  const Result<FileDescriptor> lock = lock_file(absolute + "/lock", LOCK_SH | LOCK_NB);
  if (!lock.ok()) return unavailable(lock.status().message());
  return std::shared_ptr<ObjectCache>(new ObjectCache(absolute, bytes_max));
}

Result<std::shared_ptr<const CachedModel>> ObjectCache::find(const std::string& identity,
                                                             const StoreModel& model) {
  const std::string path = model_path(identity);
  if (!fs::is_directory(path)) return std::shared_ptr<const CachedModel>();
  Result<FileDescriptor> lock = lock_file(path + ".lock", LOCK_SH);
  if (!lock.ok()) return std::move(lock).status();
  if (is_whole(path, model)) {
    touch(lock.value().get());
    return std::make_shared<const CachedModel>(path, std::move(lock).value());
  }
  // Another program has changed the model's folder, which is made again unless a server holds it.
  lock.value() = FileDescriptor();
  lock = lock_file(path + ".lock", LOCK_EX | LOCK_NB);
  if (!lock.ok()) return std::move(lock).status();
  if (!lock.value().valid()) return unavailable(path, ": is damaged, and in use");
  remove_tree(path);
  return std::shared_ptr<const CachedModel>();
}

Result<std::shared_ptr<const CachedModel>> ObjectCache::hold(const std::string& path) {
  Result<FileDescriptor> lock = lock_file(path + ".lock", LOCK_SH);
  if (!lock.ok()) return std::move(lock).status();
  if (!fs::is_directory(path)) return unavailable(path, ": is not in the cache any more");
  return std::make_shared<const CachedModel>(path, std::move(lock).value());
}

Result<std::optional<ModelDraft>> ObjectCache::begin(const std::string& place, const std::string& identity,
                                                     const StoreModel& model) {
  if (bytes_max_ != 0 && model.bytes > bytes_max_) {
    return make_status(Code::kResourceExhausted, "the model has ", model.bytes,
                       " bytes, and the option 'cache_size' allows ", bytes_max_);
  }
  ModelDraft draft;
  draft.model = identity;
  const std::string place_name = sha256_hex(place);
  draft.folder = cat(root_, "/staging/", place_name);
  Result<FileDescriptor> lock = lock_file(draft.folder + ".lock", LOCK_EX | LOCK_NB);
  if (!lock.ok()) return std::move(lock).status();
  if (!lock.value().valid()) return std::optional<ModelDraft>();
  draft.lock = std::make_shared<const FileDescriptor>(std::move(lock).value());
  ATOLL_RETURN_IF_ERROR(make_folders(cat(root_, "/parts/", place_name)));
  remove_tree(draft.folder);
  const Result<FileDescriptor> all = lock_file(root_ + "/lock", LOCK_EX);
  if (!all.ok()) return unavailable(all.status().message());
  ATOLL_RETURN_IF_ERROR(stage(place, model, draft));
  remove_old_parts(cat(root_, "/parts/", place_name), draft);
  Status reserved = reserve(draft);
  if (reserved.ok()) return std::optional<ModelDraft>(std::move(draft));
  remove_tree(draft.folder);
  return reserved;
}

/// Links what is there and lists what is not.
Status ObjectCache::stage(const std::string& place, const StoreModel& model, ModelDraft& draft) const {
  ATOLL_RETURN_IF_ERROR(make_folders(draft.folder));
  for (const std::string& folder : model.folders)
    ATOLL_RETURN_IF_ERROR(make_folders(cat(draft.folder, "/", folder)));
  for (size_t i = 0; i < model.objects.size(); ++i) {
    const ModelObject& object = model.objects[i];
    const std::string name = sha256_hex(cat(place, '\0', object.path, '\0', object.etag, '\0', object.size));
    MissingObject missing{.index = i,
                          .size = object.size,
                          .part = cat(root_, "/parts/", sha256_hex(place), "/", name, ".", object.size),
                          .whole = cat(root_, "/objects/", name),
                          .staged = cat(draft.folder, "/", object.path),
                          .lock = draft.lock};
    ATOLL_RETURN_IF_ERROR(make_folders(fs::path(missing.staged).parent_path().string()));
    if (has_size(missing.whole, object.size)) {
      ATOLL_RETURN_IF_ERROR(link_file(missing.whole, missing.staged));
    } else {
      ::unlink(missing.whole.c_str());  // somebody changed it
      draft.missing.push_back(std::move(missing));
    }
  }
  return {};
}

/// Parts of what the store had here before. Whoever holds the lock of the place calls it.
void ObjectCache::remove_old_parts(const std::string& folder, const ModelDraft& draft) {
  std::set<std::string_view> missing;
  for (const MissingObject& object : draft.missing) missing.insert(object.part);
  std::error_code failure;
  for (fs::directory_iterator entry(folder, failure); !failure && entry != fs::directory_iterator();
       entry.increment(failure)) {
    const std::string path = entry->path().string();
    if (!missing.contains(path)) ::unlink(path.c_str());
  }
}

/// The parts take the room that they will need, so that nobody else does.
Status ObjectCache::reserve(ModelDraft& draft) const {
  uint64_t bytes = 0;
  std::vector<std::string> made;
  for (const MissingObject& object : draft.missing) {
    const FileDescriptor file(
        ::open(object.part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kPartMode));
    if (!file.valid() && errno == EEXIST) continue;
    if (!file.valid()) return disk_failure(object.part);
    made.push_back(object.part);
    bytes += object.size;
  }
  Status room = make_room(bytes);
  if (room.ok()) return {};
  for (const std::string& part : made) ::unlink(part.c_str());
  return room;
}

/// Whoever holds the lock of the whole calls it: what is there, the parts just made included, fits afterwards.
Status ObjectCache::make_room(uint64_t bytes) const {
  if (bytes == 0 || bytes_max_ == 0) return {};
  remove_stale_drafts(root_ + "/staging");
  uint64_t total = 0;
  bool has_removed = true;
  while (has_removed) {
    Result<std::vector<CacheEntry>> entries = list_cache(root_);
    if (!entries.ok()) return std::move(entries).status();
    std::sort(entries->begin(), entries->end(),
              [](const CacheEntry& a, const CacheEntry& b) { return a.used_ns < b.used_ns; });
    total = 0;
    for (const CacheEntry& entry : entries.value()) total += entry.bytes;
    has_removed = false;
    for (const CacheEntry& entry : entries.value()) {
      if (total <= bytes_max_) return {};
      const bool is_linked = entry.kind == CacheEntry::Kind::kObject && entry.links > 1;
      if (is_linked || !remove_entry(entry)) continue;
      has_removed = true;
      total -= entry.bytes;
      // Its objects may be nobody's now, and older than what comes next.
      if (entry.kind == CacheEntry::Kind::kModel) break;
    }
  }
  if (total <= bytes_max_) return {};
  return make_status(Code::kResourceExhausted, "there is no room for ", bytes, " bytes more: of ", bytes_max_,
                     " that the option 'cache_size' allows, ", total - std::min(bytes, total),
                     " are in use or being downloaded");
}

Status ObjectCache::complete(const MissingObject& object) {
  if (!has_size(object.part, object.size))
    return unavailable(object.part, ": is not as long as was downloaded");
  if (::chmod(object.part.c_str(), kObjectMode) != 0) return disk_failure(object.part);
  // First the link, so that it is in use at every moment.
  ATOLL_RETURN_IF_ERROR(link_file(object.part, object.staged));
  if (::rename(object.part.c_str(), object.whole.c_str()) != 0) return disk_failure(object.part);
  return {};
}

Result<std::shared_ptr<const CachedModel>> ObjectCache::finish(ModelDraft draft, const StoreModel& model) {
  const std::string path = model_path(draft.model);
  Result<FileDescriptor> lock = lock_file(path + ".lock", LOCK_SH);
  if (!lock.ok()) return std::move(lock).status();
  if (!is_whole(draft.folder, model)) return unavailable(draft.folder, ": is not whole");
  // Once for all of its objects: what a machine that loses its power leaves of others is shorter than it should be.
  if (::syncfs(lock.value().get()) != 0) return disk_failure(path);
  if (::rename(draft.folder.c_str(), path.c_str()) != 0 && !is_whole(path, model)) return disk_failure(path);
  touch(lock.value().get());
  return std::make_shared<const CachedModel>(path, std::move(lock).value());
}

std::optional<std::string> ObjectCache::kept_listing(const std::string& place, int64_t* age_seconds) const {
  const std::string path = cat(root_, "/listings/", sha256_hex(place), ".json");
  struct stat info = {};
  if (::stat(path.c_str(), &info) != 0 || static_cast<std::uintmax_t>(info.st_size) > kListingBytesMax)
    return {};
  *age_seconds = std::max<int64_t>(std::time(nullptr) - info.st_mtim.tv_sec, 0);
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

Status ObjectCache::keep_listing(const std::string& place, const std::string& json) const {
  const std::string path = cat(root_, "/listings/", sha256_hex(place), ".json");
  if (json.empty()) {
    return ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0) == 0 ? Status() : disk_failure(path);
  }
  std::string made = path + ".XXXXXX";
  FileDescriptor file(::mkstemp(made.data()));
  if (!file.valid()) return disk_failure(made);
  std::ofstream out(made, std::ios::binary | std::ios::trunc);
  out << json;
  out.close();
  const bool is_kept = out && ::fdatasync(file.get()) == 0 && ::rename(made.c_str(), path.c_str()) == 0;
  if (is_kept) return {};
  Status failure = disk_failure(made);
  ::unlink(made.c_str());
  return failure;
}

}  // namespace atl::s3
