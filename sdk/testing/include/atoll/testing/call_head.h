/// Headers of a call that only a test makes, for whoever is asked about access.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "atoll/frontend/access.h"

namespace atl::test {

/// A call of a test. Every value lies in memory of its own that ends with it.
class TestCallHead final : public CallHead {
 public:
  using Headers = std::vector<std::pair<std::string, std::string>>;
  /// \param headers  names in lower case
  explicit TestCallHead(Headers headers) : headers_(std::move(headers)) {}
  /// \param certificate  outlives this; null: none \param peer  as CallHead::peer()
  TestCallHead(Headers headers, const ClientCertificate* certificate,
               std::string peer = "ipv4:192.0.2.1:50000")
      : headers_(std::move(headers)), certificate_(certificate), peer_(std::move(peer)) {}
  virtual ~TestCallHead() = default;

  size_t find(std::string_view name, std::span<std::string_view> values) const noexcept override {
    size_t count = 0;
    for (const auto& [key, value] : headers_) {
      if (key != name) continue;
      if (count < values.size()) values[count] = value;
      ++count;
    }
    return count;
  }
  std::string peer() const noexcept override { return peer_; }
  const ClientCertificate* certificate() const noexcept override { return certificate_; }

 private:
  Headers headers_;
  const ClientCertificate* certificate_ = nullptr;
  std::string peer_ = "ipv4:192.0.2.1:50000";
};

}  // namespace atl::test
