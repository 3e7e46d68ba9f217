/// Development mode: a model whose program is saved is loaded anew.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "atoll/backend/backend.h"
#include "atoll/core/gate.h"
#include "atoll/core/host.h"
#include "backends/python/calls/server_link.h"
#include "backends/python/model/source_watch.h"
#include "backends/python/worker_loop.h"

namespace atl::python {

/// Loads by the catalog, as every reload: beside what serves, which goes on if the new program is broken. A model whose load has failed is loaded
/// again as well; one that was unloaded is not.
class ModelReloads {
 public:
  ModelReloads(Host& host, WorkerLoop& loop, ServerLink& server) noexcept
      : host_(host), loop_(loop), server_(server) {}

  /// The version's program is watched from now on, or not any more. What cannot be watched is told in the log. [any] Once the loop runs.
  void set(const ModelSource& source, bool is_watched);
  /// Before the loop stops. [control]
  void stop() noexcept;

 private:
  // On the loop's thread.
  void begin(const ModelSource& source);
  void on_saved(const std::string& folder, const std::string& model);

  void reload(const std::string& folder, const std::string& model, const std::shared_ptr<Pass>& pass);

  Host& host_;
  WorkerLoop& loop_;
  ServerLink& server_;
  std::map<std::string, std::unique_ptr<SourceWatch>>
      watches_;  ///< by the version's folder; of the loop's thread
};

}  // namespace atl::python
