#include "frontends/grpc/credentials.h"

#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

namespace atl::frontends::grpc_frontend {
namespace {

constexpr off_t kMaxPemBytes = 1 << 20;

Status unreadable(std::string_view option, const std::string& path, std::string_view why) {
  return invalid_argument("option '", option, "' names '", path, "', expected a readable PEM file: ", why);
}

/// \param block  what the file must hold: "CERTIFICATE" or "PRIVATE KEY"
Status read_pem(std::string_view option, const std::string& path, std::string_view block,
                std::string* content) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return unreadable(option, path, std::strerror(errno));
  if (!S_ISREG(info.st_mode)) return unreadable(option, path, "it is not a regular file");
  if (info.st_size > kMaxPemBytes) {
    return unreadable(option, path, cat("it has ", info.st_size, " bytes, at most ", kMaxPemBytes));
  }
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) return unreadable(option, path, std::strerror(errno));
  *content = text.str();
  const size_t begin = content->find("-----BEGIN ");
  if (begin == std::string::npos || content->find(cat(block, "-----"), begin) == std::string::npos) {
    return unreadable(option, path, cat("it has no ", block));
  }
  return {};
}

}  // namespace

Result<TlsSettings> TlsSettings::read(const Options& options) noexcept {
  TlsSettings settings;
  settings.mutual = options.get_bool("use_ssl_mutual");
  settings.use_ssl = options.get_bool("use_ssl") || settings.mutual;
  settings.server_cert = options.get_string("server_cert");
  settings.server_key = options.get_string("server_key");
  settings.root_cert = options.get_string("root_cert");
  if (!settings.use_ssl) return settings;
  const std::string_view wanted = settings.mutual ? "use_ssl_mutual" : "use_ssl";
  auto missing = [wanted](std::string_view key) -> Status {
    return invalid_argument("option '", key, "' is empty, expected the path of a PEM file, because '", wanted,
                            "' is true");
  };
  if (settings.server_cert.empty()) return missing("server_cert");
  if (settings.server_key.empty()) return missing("server_key");
  if (settings.mutual && settings.root_cert.empty()) return missing("root_cert");
  return settings;
}

Result<std::shared_ptr<grpc::ServerCredentials>> make_credentials(const TlsSettings& settings) noexcept {
  if (!settings.use_ssl) return grpc::InsecureServerCredentials();
  grpc::SslServerCredentialsOptions options(settings.mutual
                                                ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
                                                : GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE);
  auto& pair = options.pem_key_cert_pairs.emplace_back();
  ATOLL_RETURN_IF_ERROR(read_pem("server_cert", settings.server_cert, "CERTIFICATE", &pair.cert_chain));
  ATOLL_RETURN_IF_ERROR(read_pem("server_key", settings.server_key, "PRIVATE KEY", &pair.private_key));
  if (!settings.root_cert.empty()) {
    ATOLL_RETURN_IF_ERROR(read_pem("root_cert", settings.root_cert, "CERTIFICATE", &options.pem_root_certs));
  }
  return grpc::SslServerCredentials(options);
}

bool are_usable(const std::shared_ptr<grpc::ServerCredentials>& credentials) {
  grpc::ServerBuilder builder;
  builder.AddListeningPort(cat("unix-abstract:atoll-tls-", getpid(), "-", gettid()), credentials);
  // gRPC serves nothing without somebody who would take calls.
  std::unique_ptr<grpc::ServerCompletionQueue> queue = builder.AddCompletionQueue();
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server != nullptr) server->Shutdown();
  queue->Shutdown();
  void* tag = nullptr;
  bool ok = false;
  while (queue->Next(&tag, &ok)) {
  }
  return server != nullptr;
}

}  // namespace atl::frontends::grpc_frontend
