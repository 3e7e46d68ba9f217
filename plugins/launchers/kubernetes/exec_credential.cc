#include "launchers/kubernetes/exec_credential.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "atoll/core/clock.h"
#include "atoll/lib/rfc3339.h"
#include "atoll/lib/running_program.h"
#include "launchers/common/server_environment.h"
#include "launchers/kubernetes/cluster_access.h"

namespace atl::launchers {
namespace {

constexpr std::string_view kApiVersions[] = {"client.authentication.k8s.io/v1",
                                             "client.authentication.k8s.io/v1beta1"};
constexpr const char* kInfoVariable = "KUBERNETES_EXEC_INFO";
/// Credentials have a few thousand bytes.
constexpr size_t kOutputBytesMax = size_t{1} << 20, kErrorBytesMax = size_t{4} << 10;
constexpr int64_t kStepNs = 100 * kNsPerMs;
/// The last second of the year 2200: what comes long after it does not fit into nanoseconds.
constexpr int64_t kLatestS = 7'289'654'399;

/// A list of texts; false: it is something else. Null is an empty list.
bool read_texts(const Json& list, std::vector<std::string>& texts) {
  if (!list.is_array()) return list.is_null();
  for (const Json& item : list) {
    if (!item.is_string()) return false;
    texts.push_back(item.get<std::string>());
  }
  return true;
}

bool read_variables(const Json& list, std::vector<std::string>& variables) {
  if (!list.is_array()) return list.is_null();
  for (const Json& item : list) {
    const std::string name = text_at(item, {"name"});
    if (name.empty() || !field_at(item, {"value"}).is_string()) return false;
    variables.push_back(cat(name, "=", text_at(item, {"value"})));
  }
  return true;
}

}  // namespace

Result<ExecCommand> read_exec_command(const Json& exec, const Json& cluster, const std::string& folder) {
  ExecCommand command;
  command.api_version = text_at(exec, {"apiVersion"});
  if (std::ranges::find(kApiVersions, command.api_version) == std::end(kApiVersions))
    return invalid_argument("'exec' has the apiVersion '", command.api_version, "', expected ",
                            kApiVersions[0], " or ", kApiVersions[1]);
  if (text_at(exec, {"interactiveMode"}) == "Always")
    return invalid_argument(
        "'exec' is a program that needs a terminal (interactiveMode 'Always'), which servers do not have");
  std::string program = text_at(exec, {"command"});
  if (program.empty()) return invalid_argument("'exec' has no command");
  if (program.find('/') != std::string::npos) program = std::filesystem::path(folder) / program;
  command.words.push_back(std::move(program));
  if (!read_texts(field_at(exec, {"args"}), command.words))
    return invalid_argument("'args' of 'exec' is no list of texts");
  if (!read_variables(field_at(exec, {"env"}), command.environment))
    return invalid_argument("'env' of 'exec' is no list of variables, each with a name and a value");
  Json spec = {{"interactive", false}};
  if (field_at(exec, {"provideClusterInfo"}) == true) spec["cluster"] = cluster;
  command.environment.push_back(
      cat(kInfoVariable, "=",
          json_text(
              {{"apiVersion", command.api_version}, {"kind", "ExecCredential"}, {"spec", std::move(spec)}})));
  command.install_hint = text_at(exec, {"installHint"});
  return command;
}

Result<ExecCredential> read_exec_credential(std::string_view text, const std::string& api_version) {
  const Json object = parse_json(text);
  if (text_at(object, {"kind"}) != "ExecCredential")
    return unavailable("what it prints is no ExecCredential in JSON");
  if (const std::string found = text_at(object, {"apiVersion"}); found != api_version)
    return unavailable("it answers in apiVersion '", found.substr(0, 80), "', expected ", api_version);
  const Json& status = field_at(object, {"status"});
  ExecCredential got;
  got.credential.cert_text = text_at(status, {"clientCertificateData"});
  got.credential.key_text = text_at(status, {"clientKeyData"});
  const std::string token = text_at(status, {"token"}), expires = text_at(status, {"expirationTimestamp"});
  if (got.credential.cert_text.empty() != got.credential.key_text.empty())
    return unavailable("it gives one of 'clientCertificateData' and 'clientKeyData', which belong together");
  if (token.empty() && got.credential.cert_text.empty())
    return unavailable("it gives neither a token nor a certificate");
  if (!token.empty()) {
    Result<std::string> checked = checked_token(token);
    if (!checked.ok()) return unavailable("what it gives: ", checked.status().message());
    got.credential.token = std::move(checked).value();
  }
  if (!expires.empty()) {
    const std::optional<int64_t> expires_s = read_rfc3339(expires);
    if (!expires_s || *expires_s > kLatestS)
      return unavailable("'expirationTimestamp': '", expires.substr(0, 40),
                         "' is no time as RFC 3339 writes it");
    got.expires_wall_ns = *expires_s * kNsPerSecond;
  }
  return got;
}

Result<ExecCredential> run_exec_command(const ExecCommand& command, int64_t timeout_ns,
                                        const std::atomic<bool>& given_up) {
  const std::string& name = command.words.front();
  const std::vector<char*> variables = with_own_environment(command.environment);
  Result<RunningProgram> program = RunningProgram::start({.words = command.words,
                                                          .environment = variables.data(),
                                                          .output_bytes_max = kOutputBytesMax,
                                                          .errors_bytes_max = kErrorBytesMax});
  if (!program.ok())
    return unavailable(program.status().message(), command.install_hint.empty() ? "" : "; ",
                       last_line_of(command.install_hint));
  std::optional<ProcessEnd> end;
  for (int64_t left_ns = timeout_ns; !end && left_ns > 0; left_ns -= kStepNs) {
    if (given_up.load(std::memory_order_acquire)) return unavailable(name, " is not waited for any more");
    end = program->wait(std::min(left_ns, kStepNs));
  }
  if (!end) return unavailable(name, " did not end in ", timeout_ns / kNsPerMs, " ms");
  if (end->signal != 0 || end->status != 0) {
    const std::string said = last_line_of(program->errors());
    return unavailable(name, " ", end->text(), said.empty() ? "" : ": ", said);
  }
  if (program->output().size() == kOutputBytesMax)
    return unavailable(name, " prints more than ", kOutputBytesMax >> 20, " MiB");
  Result<ExecCredential> credential = read_exec_credential(program->output(), command.api_version);
  if (!credential.ok()) return std::move(credential).status().note(name);
  return credential;
}

}  // namespace atl::launchers
