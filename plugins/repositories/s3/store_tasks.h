/// What is wanted of a store: a listing, an object.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "repositories/s3/object_cache.h"
#include "repositories/s3/object_store.h"
#include "repositories/s3/store_calls.h"
#include "repositories/s3/store_listing.h"

namespace atl::s3 {

/// All pages of a repository's listing.
class ListingTask final : public StoreTask {
 public:
  /// \param store  outlives the task
  ListingTask(const ObjectStore& store, size_t objects_max)
      : store_(store), builder_(store.url().prefix, objects_max) {}

  HttpRequest next() override { return store_.list_request(next_); }
  Step answered(Result<HttpAnswer> answer, Status* failure) override;
  /// Once it is done.
  StoreListing listing() { return builder_.finish(); }

 private:
  const ObjectStore& store_;
  ListingBuilder builder_;
  std::string next_;
};

/// An object's bytes, into the part of it that the cache has.
class ObjectTask final : public StoreTask {
 public:
  /// \param store  a copy, as the client's thread may use the task after its run
  /// \param path  below the repository's prefix \param got  gets the bytes of all tasks that share it
  ObjectTask(ObjectStore store, std::string path, std::string etag, MissingObject object,
             std::shared_ptr<std::atomic<uint64_t>> got);

  HttpRequest next() override;
  Step answered(Result<HttpAnswer> answer, Status* failure) override;
  bool has_progressed() const override { return written_ > asked_from_; }
  /// The store has another object of this name by now, or none: what was listed is no more.
  bool is_changed() const noexcept { return is_changed_; }

 private:
  bool begin(const HttpAnswer& head);
  void write(std::string& bytes);
  Step fail(Status* failure, Status status);

  const ObjectStore store_;
  const std::string path_;
  const std::string etag_;
  const MissingObject object_;
  FileDescriptor file_;  ///< the part, while a call is under way
  const std::shared_ptr<std::atomic<uint64_t>> got_;
  uint64_t written_ = 0;
  uint64_t asked_from_ = 0;  ///< by the call under way
  bool takes_body_ = false;  ///< the answer under way is the object; else its body is an error's
  bool is_changed_ = false;
  Status broken_;  ///< what ended the call under way
};

}  // namespace atl::s3
