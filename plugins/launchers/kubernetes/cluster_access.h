/// How a cluster is reached, and by whose rights.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "atoll/core/status.h"
#include "launchers/kubernetes/exec_credential.h"

namespace atl::launchers {

struct ClusterAccess {
  std::string server;           ///< "https://HOST:PORT", without '/' at the end
  std::string name_space = {};  ///< empty: nothing is said of it
  std::string ca_file = {};     ///< whom the server is trusted by, PEM
  std::string ca_text = {};     ///< the certificates themselves, in place of the file
  ClusterCredential credential = {};
  std::string token_file = {};  ///< in place of the credential's token, and read again and again
  ExecCommand exec = {};        ///< gives other credentials in place of this one
};

/// Reads a file of at most 1 MiB. Errors: INVALID_ARGUMENT names it.
Result<std::string> read_small_file(const std::string& path);

/// "TOKEN", as it stands in a header, without blanks around it. Errors: INVALID_ARGUMENT it is empty or not printable.
Result<std::string> checked_token(std::string_view text);

/// What a pod is given by its cluster. \param variable  the environment's value; null: none
/// \param folder  of the service account
/// Errors: INVALID_ARGUMENT this process is in no pod, or has no service account.
Result<ClusterAccess> in_cluster_access(const std::function<const char*(const char*)>& variable,
                                        const std::string& folder);
inline constexpr const char* kServiceAccountFolder = "/var/run/secrets/kubernetes.io/serviceaccount";

/// The current context of a kubeconfig in JSON, as `kubectl config view --raw -o json` prints it. Files that it names are read.
/// \param folder  that paths in it begin at
/// Errors: INVALID_ARGUMENT says what is missing, or not supported.
Result<ClusterAccess> read_kubeconfig(std::string_view text, const std::string& folder);

}  // namespace atl::launchers
