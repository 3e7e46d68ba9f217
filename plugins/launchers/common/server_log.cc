#include "launchers/common/server_log.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>

#include "atoll/core/utf8.h"

namespace atl::launchers {
namespace {

constexpr size_t kLineBytesMax = 4'096, kShownBytesMax = 300, kTailBytes = 4'096;

/// "... Started HTTPService at 127.0.0.1:8000", in a text or in JSON.
void find_address(std::string_view line, std::string_view service, HostPort& address) {
  const size_t found = line.find(service);
  if (found == std::string_view::npos || !address.host.empty()) return;
  const std::string_view behind = line.substr(found + service.size());
  std::optional<HostPort> read = HostPort::parse(behind.substr(0, behind.find_first_of(" \t\r\"'\\,")));
  if (!read || read->port == 0) return;
  if (read->host == "0.0.0.0") read->host = "127.0.0.1";
  if (read->host == "::") read->host = "::1";
  address = std::move(*read);
}

}  // namespace

bool AddressFinder::look() {
  if (!file_.is_open()) file_.open(log_);
  file_.clear();  // there may be more behind what was the end
  std::error_code error;
  if (const uintmax_t size = std::filesystem::file_size(log_, error);
      !error && static_cast<std::streamoff>(size) < file_.tellg()) {
    file_.seekg(0);
    line_.clear();
  }
  for (char c; file_.get(c);) {
    if (c == '\n') {
      read_line();
    } else if (line_.size() < kLineBytesMax) {
      line_.push_back(c);
    }
  }
  return !address_.http.host.empty() && !address_.grpc.host.empty();
}

void AddressFinder::read_line() {
  find_address(line_, "Started HTTPService at ", address_.http);
  find_address(line_, "Started GRPCInferenceService at ", address_.grpc);
  line_.clear();
}

std::string last_line(const std::string& log) {
  std::ifstream file(log, std::ios::ate);
  const auto size = static_cast<std::streamoff>(file.tellg());
  if (!file || size <= 0) return {};
  const std::streamoff from = std::max<std::streamoff>(0, size - static_cast<std::streamoff>(kTailBytes));
  std::string text(static_cast<size_t>(size - from), '\0');
  file.seekg(from);
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  const size_t end = text.find_last_not_of(" \t\r\n");
  if (!file || end == std::string::npos) return {};
  const size_t before = text.find_last_of('\n', end);
  const size_t begin = before == std::string::npos ? 0 : before + 1;
  return replace_invalid_utf8(
      std::string_view(text).substr(begin, std::min(end + 1 - begin, kShownBytesMax)));
}

void limit_log(const std::string& log, uint64_t bytes) noexcept {
  namespace fs = std::filesystem;
  std::error_code error;
  const uintmax_t size = fs::file_size(log, error);
  if (error || size <= bytes) return;
  fs::copy_file(log, log + ".1", fs::copy_options::overwrite_existing, error);
  fs::resize_file(log, 0, error);  // the server appends, so it goes on at the beginning
}

}  // namespace atl::launchers
