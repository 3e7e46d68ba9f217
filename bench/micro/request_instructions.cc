/// Runs one kind of request many times for callgrind, which counts instructions between the marks only:
///     request_instructions PATH COUNT
#include <valgrind/callgrind.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "request_path.h"

int main(int argc, char** argv) {
  using namespace atl::bench;
  if (argc != 3) {
    std::fprintf(stderr, "usage: request_instructions grpc|http|json|http2 COUNT\n");
    return 2;
  }
  ServedIdentity served;
  const std::string_view name = argv[1];
  auto make = name == "grpc" ? grpc_path : name == "http" ? http_binary_path : http_json_path;
  std::unique_ptr<Path> path = name == "http2" ? http2_path() : make(served);
  path->warm_up(served);
  const int count = std::atoi(argv[2]);
  size_t bytes = 0;
  CALLGRIND_START_INSTRUMENTATION;
  for (int i = 0; i < count; ++i) bytes += path->run();
  CALLGRIND_STOP_INSTRUMENTATION;
  std::printf("%d requests, %zu bytes of answers\n", count, bytes);
  return bytes == 0;
}
