/// Credentials that a program gives, as `exec` of a kubeconfig names it (client.authentication.k8s.io).
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/status.h"
#include "launchers/kubernetes/json_fields.h"

namespace atl::launchers {

/// What a call shows to the cluster.
struct ClusterCredential {
  std::string token = {};      ///< empty: none
  std::string cert_text = {};  ///< certificate and its key, PEM; empty: none
  std::string key_text = {};
};

struct ExecCommand {
  std::vector<std::string> words = {};  ///< the program and its arguments; empty: there is no program
  std::vector<std::string> environment =
      {};                         ///< "NAME=value" each, what it is told beside this process's own
  std::string api_version = {};   ///< in which it is asked, and has to answer
  std::string install_hint = {};  ///< for people who lack the program
};

struct ExecCredential {
  ClusterCredential credential;
  int64_t expires_wall_ns = 0;  ///< since the epoch; 0: it has not said
};

/// The member "exec" of a kubeconfig's user. \param cluster  of the context, with its certificates as data
/// \param folder  of the kubeconfig: where a command with a '/' is looked for
/// Errors: INVALID_ARGUMENT says what is missing, or not supported.
Result<ExecCommand> read_exec_command(const Json& exec, const Json& cluster, const std::string& folder);

/// What the program has printed. Errors: UNAVAILABLE says what is wrong with it, without a word of it.
Result<ExecCredential> read_exec_credential(std::string_view text, const std::string& api_version);

/// Runs the program, and waits for it. \param given_up  ends the wait, within about a tenth of a second
/// Errors: UNAVAILABLE there is no such program, it failed, did not end in time and was killed, or did not print a credential.
Result<ExecCredential> run_exec_command(const ExecCommand& command, int64_t timeout_ns,
                                        const std::atomic<bool>& given_up);

}  // namespace atl::launchers
