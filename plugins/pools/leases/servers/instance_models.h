/// What is asked of a server that hosts leases, over the protocol that every V2 server with model control speaks.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "atoll/core/status.h"
#include "atoll/pools/launcher.h"
#include "pools/leases/book/definitions.h"

namespace atl::pools {

/// A server as far as models are put on it.
struct ModelServer {
  std::string repository;  ///< directory that it reads models from; empty: they are there already
  ServerAddress address;
  std::string key;  ///< that its control calls need; empty: none
};

/// What a server says of its models.
struct ServedModels {
  std::set<std::string, std::less<>> served;  ///< a version of them is ready, or will be soon
  std::map<std::string, std::string, std::less<>> not_served;  ///< of others the reason, where there is one
};

/// Each call returns at once and ends with one call of `done`, on the executor of whoever asks. A server that does not
/// answer in time has failed with DEADLINE_EXCEEDED. [that executor]
class InstanceModels {
 public:
  using Done = std::function<void(Status)>;

  /// OK when the server takes calls.
  virtual void check_ready(const ServerAddress& server, Done done) = 0;
  /// OK when it takes no control calls of whoever has no key.
  virtual void check_closed(const ServerAddress& server, Done done) = 0;
  /// OK when all of them can be put on a server. Errors: FAILED_PRECONDITION one is not there, or may not be used.
  virtual void check_models(const std::vector<LeaseModel>& models, Done done) = 0;
  virtual void find_models(const ModelServer& server, std::function<void(Result<ServedModels>)> done) = 0;
  /// Errors: whatever the server says, with its text.
  virtual void load(const ModelServer& server, const LeaseModel& model, Done done) = 0;
  /// One that is not loaded is no failure. Ends when it is unloaded.
  virtual void unload(const ModelServer& server, const std::string& model, Done done) = 0;
  /// The backends of a loaded model; of an ensemble none.
  virtual void find_backends(const ServerAddress& server, const std::string& model,
                             std::function<void(Result<std::vector<std::string>>)> done) = 0;

 protected:
  ~InstanceModels() = default;
};

}  // namespace atl::pools
