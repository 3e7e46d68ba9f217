/// Tells when the program of a model version was saved.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "atoll/core/clock.h"
#include "atoll/core/file_descriptor.h"
#include "atoll/core/status.h"
#include "backends/python/worker_loop.h"

namespace atl::python {

/// Where a model version's program is.
struct SourceFolders {
  std::string model;    ///< with the configuration, and modules that versions share
  std::string version;  ///< below it, or elsewhere
  std::string program;  ///< the file's name in the version's folder, whatever it ends in
};

/// Watches the files whose names end in ".py", and the configuration, in the version's folder and those below it, and in the model's folder and
/// those below it that are no versions. Hidden folders and files, and what an editor keeps beside a file, do not count. Links are followed: one
/// on the way to the folders or to such a file that is exchanged is a change, whatever its name, and so is a save of the file it leads to. One
/// file after the other may be saved: `changed` is called when nothing has changed for kQuietNs. On the loop's thread, but for the constructor.
class SourceWatch {
 public:
  static constexpr int64_t kQuietNs = 200 * kNsPerMs;
  /// Most folders of one version that are watched.
  static constexpr size_t kFoldersMax = 1000;

  SourceWatch(WorkerLoop& loop, Clock& clock, SourceFolders folders, std::function<void()> changed)
      : loop_(loop), clock_(clock), folders_(std::move(folders)), changed_(std::move(changed)) {}
  SourceWatch(const SourceWatch&) = delete;
  SourceWatch& operator=(const SourceWatch&) = delete;
  ~SourceWatch() { stop(); }

  /// Errors: RESOURCE_EXHAUSTED the system watches no more; NOT_FOUND there is no folder.
  Status start();
  void stop() noexcept;

 private:
  struct Folder {
    std::string path;
    bool holds_sources = false;   ///< programs in it count
    std::set<std::string> names;  ///< on the way to what is watched, in this folder
  };
  /// What an event means.
  struct News {
    bool is_change = false;
    bool is_elsewhere = false;  ///< what is watched may lie somewhere else from now on
  };

  Status open();
  void open_again();
  void read_events();
  News look(const Folder& folder, const std::string& name, uint32_t mask);
  News look_at_source(const std::string& folder, const std::string& name, uint32_t mask);
  bool is_source(const std::string& folder, std::string_view name) const;
  Result<Folder*> watch(const std::string& folder);
  Status add(const std::string& folder);
  void add_below(const std::string& folder);
  void follow(const std::string& path);
  void note(const std::string& folder, const std::string& name);
  void begin_quiet();

  WorkerLoop& loop_;
  Clock& clock_;
  const SourceFolders folders_;
  const std::function<void()> changed_;
  FileDescriptor events_;
  std::map<int, Folder> watched_;  ///< by inotify's number
  WorkerLoop::Timer quiet_ = 0;
};

}  // namespace atl::python
