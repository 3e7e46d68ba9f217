/// What it costs a call to be known: credentials_bench [CALLS] [REPETITIONS]
///
/// The frontends' own code for access (AccessCheck) with the sources of security/keys and security/jwt, in process: without a source of
/// identities; with the credential that the connection has sent last; and with one that another connection has sent, which its source
/// knows already. Prints the CPU time of a call: the median of the repetitions, and the smallest and the largest, in nanoseconds.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "atoll/testing/fake_host.h"
#include "atoll/testing/followed_fake.h"
#include "frontends/common/access/access_check.h"
#include "security/jwt/jwt_source.h"
#include "security/jwt/testing/token_maker.h"
#include "security/keys/token_source.h"

namespace {

using namespace atl;             // NOLINT
using namespace atl::frontends;  // NOLINT

/// What a source of identities has beside a plugin around it.
template <class Source>
class SourceAccess final : public Access {
 public:
  explicit SourceAccess(Source& source) : source_(source) {}
  virtual ~SourceAccess() = default;
  Result<AccessOutcome> ask(const AccessQuestion&, AccessWaiter&, std::string_view*) noexcept override {
    return AccessOutcome::kAllowed;
  }
  uint32_t roles() const noexcept override { return kKnowsCallers; }
  Result<IdentityOutcome> identify(const AccessQuestion& question,
                                   std::shared_ptr<const Identity>* identity) noexcept override {
    return source_.identify(question, identity);
  }

 private:
  Source& source_;
};

/// Headers as a client of HTTP sends them.
class Head final : public CallHead {
 public:
  explicit Head(std::string authorization) : authorization_(std::move(authorization)) {}
  virtual ~Head() = default;
  size_t find(std::string_view name, std::span<std::string_view> values) const noexcept override {
    size_t count = 0;
    for (const auto& [key, value] : {std::pair<std::string_view, std::string_view>{"host", "localhost:8000"},
                                     {"user-agent", "bench"},
                                     {"content-type", "application/json"},
                                     {"authorization", authorization_}}) {
      if (key != name || value.empty()) continue;
      if (count < values.size()) values[count] = value;
      ++count;
    }
    return count;
  }
  std::string peer() const noexcept override { return "ipv4:127.0.0.1:50000"; }

 private:
  const std::string authorization_;
};

struct Frontend {
  Frontend() {
    if (!point.open().ok()) std::abort();
  }
  ~Frontend() {
    last.clear();
    point.close();
  }
  void publish(const char* instance, Access& access) {
    host.registry().publish<Access>(instance, access, 0, 2);
    test::publish_service_changed(host, Access::kInterfaceId, instance);
  }
  void withdraw(const char* instance) {
    last.clear();
    host.registry().withdraw(std::string(Access::kInterfaceId), instance);
    test::publish_service_changed(host, Access::kInterfaceId, instance);
  }
  void call(const Head& head, const CallerPlace* place) {
    if (!point.asks()) return;  // as frontends do
    (void)check.ask(
        point, {ApiCategory::kInference, "inference", CallProtocol::kHttp, head, false}, {},
        [](void*) noexcept {}, nullptr, place);
    std::string_view caller;
    if (!check.take(&caller).ok()) std::abort();
    check.forget();
  }

  test::FakeHost host{"frontend", test::FakeHost::Threads::kReal};
  AccessPoint point{host};
  LastCallers last;
  AccessCheck check;
};

struct Budget {
  const char* what;
  double ns;
};

/// Of this thread, so that other programs of the machine do not count.
double cpu_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

bool measure(const Budget& budget, size_t calls, size_t repetitions,
             const std::function<void(size_t)>& call) {
  std::vector<double> each;
  for (size_t i = 0; i <= repetitions; ++i) {
    const double begin = cpu_ns();
    for (size_t n = 0; n < calls; ++n) call(n);
    const double took = cpu_ns() - begin;
    if (i != 0) each.push_back(took / static_cast<double>(calls));
  }
  std::ranges::sort(each);
  const double median = each[each.size() / 2];
  std::printf("| %s | %.0f | %.0f to %.0f | %.0f | %s |\n", budget.what, median, each.front(), each.back(),
              budget.ns, median <= budget.ns ? "yes" : "no");
  std::fflush(stdout);
  return median <= budget.ns;
}

std::string write(const std::filesystem::path& folder, const char* name, const std::string& text) {
  const std::filesystem::path path = folder / name;
  std::ofstream(path) << text;
  std::filesystem::permissions(path,
                               std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  return path;
}

/// Its SHA-256 stands in the file.
constexpr const char* kKey = "atk_ci_0123456789abcdef0123456789abcdef";

std::string key_line() {
  std::array<unsigned char, 32> digest{};
  unsigned int size = 0;
  EVP_Digest(kKey, std::string_view(kKey).size(), digest.data(), &size, EVP_sha256(), nullptr);
  std::string text = "ci:";
  for (const unsigned char byte : digest) {
    char hex[3];
    std::snprintf(hex, sizeof hex, "%02x", byte);
    text += hex;
  }
  return text + ":inference\n";
}

}  // namespace

int main(int argc, char** argv) {
  const size_t calls = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 200'000;
  const size_t repetitions = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 15;
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / cat("credentials_bench_", ::getpid());
  std::filesystem::create_directories(folder);
  bool all_met = true;
  {
    Frontend frontend;
    keys::TokenSource key_source(frontend.host, write(folder, "keys", key_line()), true, 0);
    const jwt::TokenSigner signer(jwt::TokenSigner::Kind::kP256);
    jwt::JwtSettings settings;
    settings.file = write(folder, "set", jwt::key_set({signer.jwk()}));
    settings.verifier.claims.issuers = {"i"};
    settings.verifier.claims.audiences = {"a"};
    settings.verifier.algorithms = {jwt::Algorithm::kEs256};
    settings.for_all = std::move(Permissions::parse("inference")).value();
    jwt::JwtSource jwt_source(frontend.host, std::move(settings));
    if (!key_source.start().ok() || !jwt_source.start().ok()) return 2;
    SourceAccess<keys::TokenSource> by_key(key_source);
    SourceAccess<jwt::JwtSource> by_token(jwt_source);
    const int64_t now_s = frontend.host.clock().wall_ns() / kNsPerSecond;
    const std::string token =
        signer.token("ES256", cat(R"({"iss":"i","aud":"a","sub":"ann","exp":)", now_s + 36'000,
                                  R"(,"filler":")", std::string(560, 'x'), R"("})"));
    const Head nothing(""), key(cat("Bearer ", kKey)), web_token(cat("Bearer ", token));
    const CallerPlace same{frontend.last, 1};
    std::printf("A web token of %zu bytes; %zu calls a repetition, %zu repetitions.\n\n", token.size(), calls,
                repetitions);
    std::puts("| a call | ns | smallest and largest | budget | met |\n| --- | --- | --- | --- | --- |");
    all_met &= measure({"without a source of identities", 10}, calls, repetitions,
                       [&](size_t) { frontend.call(nothing, &same); });
    for (const bool is_key : {true, false}) {
      frontend.publish("source", is_key ? static_cast<Access&>(by_key) : by_token);
      const Head& head = is_key ? key : web_token;
      all_met &= measure(
          {is_key ? "the key that the connection sent last" : "the web token that the connection sent last",
           300},
          calls, repetitions, [&](size_t) { frontend.call(head, &same); });
      all_met &= measure(
          {is_key ? "a key of another connection" : "a web token of another connection, verified before",
           is_key ? 600.0 : 1500.0},
          calls, repetitions, [&](size_t n) {
            // No two connections in a row have the same place.
            const CallerPlace place{frontend.last, n + 2};
            frontend.call(head, &place);
          });
      frontend.withdraw("source");
    }
  }
  std::filesystem::remove_all(folder);
  return all_met ? 0 : 1;
}
