#include "frontends/grpc/credentials.h"

#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <unistd.h>

#include <utility>

namespace atl::frontends::grpc_frontend {

Result<std::shared_ptr<grpc::ServerCredentials>> make_credentials(const TlsSettings& settings) noexcept {
  if (!settings.use_ssl) return grpc::InsecureServerCredentials();
  const auto with_certificate = settings.require_client_cert
                                    ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
                                    : GRPC_SSL_REQUEST_CLIENT_CERTIFICATE_AND_VERIFY;
  grpc::SslServerCredentialsOptions options(settings.mutual ? with_certificate
                                                            : GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE);
  Result<TlsFiles> files = read_tls_files(settings);
  if (!files.ok()) return std::move(files).status();
  options.pem_key_cert_pairs.push_back({std::move(files->server_key), std::move(files->server_cert)});
  options.pem_root_certs = std::move(files->root_cert);
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
