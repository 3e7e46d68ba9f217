#include "launchers/kubernetes/cluster_access.h"

#include <openssl/evp.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

#include "atoll/lib/blanks.h"
#include "atoll/lib/http_request.h"
#include "launchers/kubernetes/json_fields.h"

namespace atl::launchers {
namespace {

constexpr size_t kFileBytesMax = size_t{1} << 20;

Result<std::string> decode_base64(std::string_view name, std::string_view text) {
  std::string bytes(text.size() / 4 * 3, '\0');
  const int size = text.size() % 4 != 0 || text.empty()
                       ? -1
                       : EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                                         reinterpret_cast<const unsigned char*>(text.data()),
                                         static_cast<int>(text.size()));
  if (size < 0) return invalid_argument("'", name, "' is no base64");
  // What pads the text becomes zeros.
  const size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  bytes.resize(static_cast<size_t>(size) - padding);
  return bytes;
}

/// A member "NAME-data", or what is in the file that "NAME" names; empty: neither is there.
Result<std::string> data_or_file(const Json& object, const char* name, const std::string& folder) {
  const std::string data_name = cat(name, "-data"), data = text_at(object, {data_name.c_str()}),
                    file = text_at(object, {name});
  if (!data.empty()) return decode_base64(data_name, data);
  if (!file.empty()) return read_small_file(std::filesystem::path(folder) / file);
  return std::string();
}

Status read_cluster(const Json& cluster, const std::string& folder, ClusterAccess& access) {
  for (const char* name : {"tls-server-name", "proxy-url"}) {
    if (!text_at(cluster, {name}).empty()) return invalid_argument("'", name, "' is not supported");
  }
  if (field_at(cluster, {"insecure-skip-tls-verify"}) == true)
    return invalid_argument(
        "'insecure-skip-tls-verify' is not supported: name the certificates of the server's authority");
  access.server = text_at(cluster, {"server"});
  while (access.server.ends_with('/')) access.server.pop_back();
  if (!is_http_url(access.server))
    return invalid_argument("'", access.server, "' is no address of a cluster");
  Result<std::string> authority = data_or_file(cluster, "certificate-authority", folder);
  if (!authority.ok()) return std::move(authority).status();
  access.ca_text = std::move(authority).value();
  return {};
}

std::string encode_base64(const std::string& bytes) {
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');
  const int size =
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                      reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
  text.resize(static_cast<size_t>(size));
  return text;
}

/// What a program that gives credentials may be told of the cluster.
Json cluster_information(const Json& cluster, const ClusterAccess& access) {
  Json information = {{"server", access.server}};
  if (!access.ca_text.empty()) information["certificate-authority-data"] = encode_base64(access.ca_text);
  const Json& own = item_named(field_at(cluster, {"extensions"}), "client.authentication.k8s.io/exec");
  if (!own.is_null()) information["config"] = field_at(own, {"extension"});
  return information;
}

Status read_user(const Json& user, const Json& cluster, const std::string& folder, ClusterAccess& access) {
  for (const char* name : {"auth-provider", "username", "as"}) {
    if (!field_at(user, {name}).is_null()) return invalid_argument("'", name, "' is not supported");
  }
  Result<std::string> certificate = data_or_file(user, "client-certificate", folder);
  if (!certificate.ok()) return std::move(certificate).status();
  Result<std::string> key = data_or_file(user, "client-key", folder);
  if (!key.ok()) return std::move(key).status();
  access.credential.cert_text = std::move(certificate).value();
  access.credential.key_text = std::move(key).value();
  if (access.credential.cert_text.empty() != access.credential.key_text.empty())
    return invalid_argument("'client-certificate' and 'client-key' belong together");
  if (const std::string file = text_at(user, {"tokenFile"}); !file.empty()) {
    access.token_file = std::filesystem::path(folder) / file;
  } else if (const std::string token = text_at(user, {"token"}); !token.empty()) {
    Result<std::string> checked = checked_token(token);
    if (!checked.ok()) return std::move(checked).status();
    access.credential.token = std::move(checked).value();
  }
  const Json& exec = field_at(user, {"exec"});
  if (exec.is_null()) return {};
  if (!access.token_file.empty() || !access.credential.token.empty() || !access.credential.cert_text.empty())
    return invalid_argument("'exec' and credentials beside it exclude each other");
  Result<ExecCommand> command = read_exec_command(exec, cluster_information(cluster, access), folder);
  if (!command.ok()) return std::move(command).status();
  access.exec = std::move(command).value();
  return {};
}

}  // namespace

Result<std::string> read_small_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return invalid_argument(path, ": ", std::strerror(errno));
  std::string text(kFileBytesMax + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad()) return invalid_argument(path, ": it cannot be read");
  if (!file.eof()) return invalid_argument(path, ": it has more than 1 MiB");
  text.resize(static_cast<size_t>(file.gcount()));
  return text;
}

Result<std::string> checked_token(std::string_view text) {
  const std::string token(without_blanks(text));
  if (token.empty()) return invalid_argument("the token is empty");
  for (char c : token) {
    if (c <= ' ' || c > '~') return invalid_argument("the token has characters that no token has");
  }
  return token;
}

Result<ClusterAccess> in_cluster_access(const std::function<const char*(const char*)>& variable,
                                        const std::string& folder) {
  const char* const host = variable("KUBERNETES_SERVICE_HOST");
  const char* const port = variable("KUBERNETES_SERVICE_PORT");
  if (host == nullptr || port == nullptr || *host == '\0' || *port == '\0')
    return invalid_argument(
        "this process is in no pod (KUBERNETES_SERVICE_HOST is not set): set 'server' or 'kubeconfig'");
  const bool is_ipv6 = std::strchr(host, ':') != nullptr;
  ClusterAccess access{cat("https://", is_ipv6 ? "[" : "", host, is_ipv6 ? "]" : "", ":", port)};
  access.token_file = folder + "/token";
  Result<std::string> authority = read_small_file(folder + "/ca.crt");
  if (!authority.ok()) return std::move(authority).status();
  access.ca_text = std::move(authority).value();
  Result<std::string> name_space = read_small_file(folder + "/namespace");
  if (!name_space.ok()) return std::move(name_space).status();
  access.name_space = without_blanks(name_space.value());
  return access;
}

Result<ClusterAccess> read_kubeconfig(std::string_view text, const std::string& folder) {
  const Json config = parse_json(text);
  if (!config.is_object())
    return invalid_argument(
        "it is not JSON; 'kubectl config view --raw -o json' prints a kubeconfig as JSON");
  const std::string current = text_at(config, {"current-context"});
  const Json& context = field_at(item_named(field_at(config, {"contexts"}), current), {"context"});
  if (context.is_null())
    return invalid_argument("it has no context '", current, "', which is its current one");
  const std::string cluster_name = text_at(context, {"cluster"}), user_name = text_at(context, {"user"});
  const Json& cluster = field_at(item_named(field_at(config, {"clusters"}), cluster_name), {"cluster"});
  if (cluster.is_null()) return invalid_argument("it has no cluster '", cluster_name, "'");
  ClusterAccess access;
  if (Status status = read_cluster(cluster, folder, access); !status.ok())
    return std::move(status).note(cat("cluster '", cluster_name, "'"));
  const Json& user = field_at(item_named(field_at(config, {"users"}), user_name), {"user"});
  if (Status status = read_user(user, cluster, folder, access); !status.ok())
    return std::move(status).note(cat("user '", user_name, "'"));
  access.name_space = text_at(context, {"namespace"});
  return access;
}

}  // namespace atl::launchers
