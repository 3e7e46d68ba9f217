/// What a command line asks for.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "ports.h"

namespace atl::serve {

struct ServeOptions {
  std::string path;  ///< what is to be served; empty: the demonstration
  std::array<ServeEndpoint, 3> endpoints{
      ServeEndpoint{.word = "HTTP", .instance = "http", .usual = 8000},
      ServeEndpoint{.word = "gRPC", .instance = "grpc", .usual = 8001},
      ServeEndpoint{.word = "metrics", .instance = "metrics", .address = "", .usual = 8002}};
  std::string control_mode;  ///< empty: poll where that is possible, else none
  int64_t poll_seconds = 5;
  std::vector<std::string> load_models;
  std::string config_name;
  bool completes_configurations = true;
  bool exit_on_error = false;

  int64_t log_verbose = 0;
  bool log_info = false;
  bool log_warning = true;
  std::string log_file;

  std::string tls_cert;  ///< of all endpoints; empty: without TLS
  std::string tls_key;

  std::vector<std::string> settings;  ///< of --set
  bool print_manifest = false;

  const char* scheme() const { return tls_cert.empty() ? "http://" : "https://"; }
  ServeEndpoint& http() { return endpoints[0]; }
  const ServeEndpoint& http() const { return endpoints[0]; }
};

}  // namespace atl::serve
