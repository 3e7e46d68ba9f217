/// The backends of foreign libraries that are in use.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "backends/triton/foreign_backend.h"
#include "backends/triton/foreign_context.h"
#include "backends/triton/library/search.h"
#include "backends/triton/load_calls.h"

namespace atl::triton {

/// One backend for each library (or script, if it is written in Python) and name, made for the first model that wants
/// it and kept until close(). Where the library's file was replaced meanwhile, the next model gets a new one, and the one
/// before is finalised with its last model. Libraries stay mapped until close() at the least, and for good if a call
/// into one was left behind. [worker]
class BackendStore {
 public:
  /// \param unloads  whether close() closes the libraries
  BackendStore(std::shared_ptr<ForeignContext> around, LoadCalls& calls, bool unloads)
      : around_(std::move(around)), calls_(calls), unloads_(unloads) {}
  BackendStore(const BackendStore&) = delete;
  BackendStore& operator=(const BackendStore&) = delete;
  ~BackendStore() { close(); }

  /// \param config_json  settings, of use to the first caller only. A backend that takes long to initialise keeps
  /// those waiting who want the same one; while one that was left behind has not returned, they are refused.
  /// Errors: BackendLibrary::open(), ForeignBackend::initialize(); UNAVAILABLE refused
  Result<std::shared_ptr<ForeignBackend>> get(const LibraryFile& file, const std::string& name,
                                              std::string config_json);
  /// Finalises all backends but for those in calls that were left behind. No other model is left, and nothing is got any
  /// more. [control]
  void close() noexcept;

 private:
  struct Seat {
    std::mutex mutex;
    runtime::FileIdentity file;                     ///< of the library
    std::shared_ptr<const BackendLibrary> library;  ///< null: not open yet
    std::shared_ptr<ForeignBackend> backend;        ///< null: not made yet, or it failed
    std::weak_ptr<const void> failed;               ///< ForeignBackend::presence() of the last that did
  };
  std::shared_ptr<Seat> seat_of(const LibraryFile& file, const std::string& name);
  std::shared_ptr<const BackendLibrary> keep(BackendLibrary library);

  const std::shared_ptr<ForeignContext> around_;
  LoadCalls& calls_;
  const bool unloads_;
  std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, std::shared_ptr<Seat>> seats_;
  std::vector<std::shared_ptr<BackendLibrary>> libraries_;
};

}  // namespace atl::triton
