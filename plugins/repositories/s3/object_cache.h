/// Models of object stores on this machine's disk.
///
/// One folder, which several servers may share:
///
///     objects/<object>                    an object, whole; read-only
///     parts/<place>/<object>.<size>       one that is being downloaded, or was
///     models/<model>/...                  a model as a store's listing names it, whole: hard links to objects
///     models/<model>.lock                 locked (flock), shared, by whoever serves it; its time is that of the last use
///     staging/<place>/...                 a model in the making
///     staging/<place>.lock                locked by whoever makes it, or still writes to parts of it
///     listings/<place>.json               the last listing of a repository; its time is when the store gave it
///     lock                                held while room is made
///
/// The names in <> are SHA-256 of what they stand for, so nothing that a store says becomes a path but what ModelObject::path
/// may be.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "atoll/core/file_descriptor.h"
#include "atoll/core/status.h"
#include "repositories/s3/store_listing.h"

namespace atl::s3 {

/// A model in the cache that cannot be removed as long as this exists.
class CachedModel {
 public:
  CachedModel(std::string path, FileDescriptor lock) noexcept
      : path_(std::move(path)), lock_(std::move(lock)) {}
  /// Its folder, absolute.
  const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
  FileDescriptor lock_;
};

/// An object that is not there yet, or not whole.
struct MissingObject {
  size_t index = 0;  ///< in StoreModel::objects
  uint64_t size = 0;
  std::string part;    ///< path of what there is
  std::string whole;   ///< path of what is to be
  std::string staged;  ///< path of the model's link to it
  /// Who may write to the part holds it.
  std::shared_ptr<const FileDescriptor> lock;
};

/// A model in the making. One at a time for each model of a repository, among all servers.
struct ModelDraft {
  std::string model;   ///< identity
  std::string folder;  ///< of staging
  std::shared_ptr<const FileDescriptor> lock;
  std::vector<MissingObject> missing;
};

/// [worker]
class ObjectCache {
 public:
  /// Makes the folders. \param bytes_max  of objects, and parts of them at their full size
  /// Errors: UNAVAILABLE the folder cannot be made or written.
  static Result<std::shared_ptr<ObjectCache>> open(const std::string& directory, uint64_t bytes_max);

  /// Null: it is not there. Errors: UNAVAILABLE the disk's reason.
  Result<std::shared_ptr<const CachedModel>> find(const std::string& identity, const StoreModel& model);
  /// Of a model that find() or finish() gave. Errors: UNAVAILABLE it is gone.
  static Result<std::shared_ptr<const CachedModel>> hold(const std::string& path);
  /// Begins a model: objects that are there are linked, the others are given with room reserved.
  /// \param place  of the model: store, bucket and folder
  /// \returns nothing: another thread or server makes a model of this place
  /// Errors: RESOURCE_EXHAUSTED the model is larger than the cache, or than what is not in use; UNAVAILABLE the disk's reason.
  Result<std::optional<ModelDraft>> begin(const std::string& place, const std::string& identity,
                                          const StoreModel& model);
  /// An object is whole. Errors: UNAVAILABLE the disk's reason.
  static Status complete(const MissingObject& object);
  /// All of them are: the model appears, at once. Errors: UNAVAILABLE the disk's reason.
  Result<std::shared_ptr<const CachedModel>> finish(ModelDraft draft, const StoreModel& model);

  /// The last listing. \param age_seconds  gets how old it is. Nothing: there is none
  std::optional<std::string> kept_listing(const std::string& place, int64_t* age_seconds) const;
  /// \param json  empty: the one that is kept is current. Errors: UNAVAILABLE the disk's reason.
  Status keep_listing(const std::string& place, const std::string& json) const;

 private:
  ObjectCache(std::string directory, uint64_t bytes_max)
      : root_(std::move(directory)), bytes_max_(bytes_max) {}
  std::string model_path(const std::string& identity) const { return cat(root_, "/models/", identity); }
  Status stage(const std::string& place, const StoreModel& model, ModelDraft& draft) const;
  static void remove_old_parts(const std::string& folder, const ModelDraft& draft);
  Status reserve(ModelDraft& draft) const;
  Status make_room(uint64_t bytes) const;

  const std::string root_;
  const uint64_t bytes_max_;
};

}  // namespace atl::s3
