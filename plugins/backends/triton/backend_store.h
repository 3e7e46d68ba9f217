/// The backends of foreign libraries that are in use.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "atoll/log.h"
#include "backends/triton/foreign_backend.h"
#include "backends/triton/library/search.h"
#include "backends/triton/memory_manager.h"

namespace atl::triton {

/// One backend for each library (or script, if it is written in Python) and name, made for the first model that wants
/// it and kept until close(). Where the library's file was replaced meanwhile, the next model gets a new one, and the one
/// before is finalised with its last model. Libraries stay mapped until close() at the least. [worker]
class BackendStore {
 public:
  /// \param unloads  whether close() closes the libraries
  BackendStore(Log& log, bool unloads) : log_(log), unloads_(unloads) {}
  BackendStore(const BackendStore&) = delete;
  BackendStore& operator=(const BackendStore&) = delete;
  ~BackendStore() { close(); }

  /// \param config_json  settings, of use to the first caller only. A backend that takes long to initialise keeps
  /// those waiting who want the same one. Errors: BackendLibrary::open(), ForeignBackend::create()
  Result<std::shared_ptr<ForeignBackend>> get(const LibraryFile& file, const std::string& name,
                                              std::string config_json);
  /// Finalises all backends. No model is left, and nothing is got any more. [control]
  void close() noexcept;

 private:
  struct Seat {
    std::mutex mutex;
    runtime::FileIdentity file;               ///< of the library
    const BackendLibrary* library = nullptr;  ///< null: not open yet
    std::shared_ptr<ForeignBackend> backend;  ///< null: not made yet, or it failed
  };
  std::shared_ptr<Seat> seat_of(const LibraryFile& file, const std::string& name);
  const BackendLibrary& keep(BackendLibrary library);

  Log& log_;
  const bool unloads_;
  HeapMemory memory_;
  std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, std::shared_ptr<Seat>> seats_;
  std::deque<BackendLibrary> libraries_;
};

}  // namespace atl::triton
