/// The models of one repository in an object store, as its keys name them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/status.h"
#include "atoll/models/repository.h"
#include "repositories/s3/listing_page.h"

namespace atl::s3 {

/// Deepest nesting of folders in a model.
inline constexpr size_t kFolderDepthMax = 32;

/// An object below a model's folder.
struct ModelObject {
  std::string path;  ///< below the model's folder: "1/model.onnx"
  std::string etag;
  std::string modified;
  uint64_t size = 0;
};

struct StoreModel {
  std::vector<ModelObject> objects = {};  ///< ordered by path
  std::vector<std::string> folders = {};  ///< those that have an object of their own, whose key ends with '/'
  uint64_t bytes = 0;                     ///< of all objects
  std::string problem = {};               ///< not empty: it cannot be on a disk, and why

  /// A text that is the same only while nothing of it changes, 64 hexadecimal digits.
  std::string identity(std::string_view place) const;
  /// Likewise of each entry directly below its folder. \param config  name of the entry that the configuration is read from
  std::vector<RepositoryStamp> stamps(std::string_view config) const;
  bool has(std::string_view path) const;
};

struct StoreListing {
  std::map<std::string, StoreModel, std::less<>> models = {};
  std::vector<std::string> ignored = {};  ///< sentences on folders that are no models; a few of them
  std::vector<StoreObject> objects = {};  ///< what it was made of

  /// As JSON, for the next start.
  std::string to_json() const;
};

/// Makes a listing of a store's pages, none of which is trusted.
class ListingBuilder {
 public:
  /// \param prefix  that the keys are below; without slashes at its ends
  ListingBuilder(std::string prefix, size_t objects_max);

  /// Errors: INVALID_ARGUMENT the store names a key that was not asked for, or a page again; RESOURCE_EXHAUSTED there are more
  /// than objects_max. After a failure only reset() may be called.
  Status add(ListingPage page);
  void reset();
  StoreListing finish();

 private:
  const std::string prefix_;  ///< empty, or with a '/' at its end
  const size_t objects_max_;
  std::string last_token_;
  std::vector<StoreObject> objects_;
};

/// What to_json() gave. Errors: INVALID_ARGUMENT it is no such text, or has keys that a store's listing may not have.
Result<StoreListing> parse_kept_listing(const std::string& json, const std::string& prefix,
                                        size_t objects_max);

}  // namespace atl::s3
