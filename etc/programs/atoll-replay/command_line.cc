#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <limits>
#include <utility>

#include "atoll/core/host_port.h"
#include "atoll/core/status.h"
#include "atoll/core/text.h"
#include "atoll/lib/flag_suggestion.h"
#include "atoll/lib/given_token.h"
#include "atoll/lib/version.h"
#include "atoll/runtime/escape.h"
#include "replay_options.h"

namespace atl::replay {
namespace {

constexpr std::string_view kPlain = "http://", kTls = "https://";

std::string_view without_scheme(std::string_view url) {
  for (std::string_view scheme : {kPlain, kTls}) {
    if (url.starts_with(scheme)) return url.substr(scheme.size());
  }
  return url;
}

/// Empty: it is fine.
std::string check_address(const std::string& text) {
  return HostPort::parse(without_scheme(text))
             ? std::string()
             : cat("found '", text, "', expected HOST:PORT or https://HOST:PORT");
}

/// Errors: INVALID_ARGUMENT files of TLS without TLS.
Status read_url(ReplayOptions* options) {
  ReplayTls& tls = options->tls;
  tls.is_used = options->url.starts_with(kTls);
  options->url = without_scheme(options->url);
  if (tls.is_used || (tls.ca_file.empty() && tls.cert_file.empty())) return {};
  return invalid_argument(tls.ca_file.empty() ? "--cert" : "--ca-file",
                          " needs TLS: --url https://HOST:PORT");
}

std::string check_header(const std::string& text) {
  const size_t colon = text.find(':');
  const bool is_line = std::none_of(text.begin(), text.end(), [](unsigned char c) { return c < 0x20; });
  return colon != std::string::npos && colon > 0 && is_line
             ? std::string()
             : "expected \"NAME: VALUE\"";  // not what was found: it may be a secret
}

bool is_credential(const std::string& header) {
  constexpr std::string_view kName = "authorization";
  std::string name = header.substr(0, header.find(':'));
  std::ranges::transform(name, name.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name == kName;
}

/// Makes a header of the token, unless the command line has that header.
/// Errors: INVALID_ARGUMENT --token-file and the header are both given; those of given_token().
Status read_token(const std::string& file, ReplayOptions* options) {
  std::string from_environment = std::exchange(options->token, {});
  if (std::ranges::any_of(options->headers, is_credential)) {
    if (file.empty()) return {};
    return invalid_argument("--token-file and --header Authorization: only one can be sent");
  }
  Result<std::string> token = lib::given_token(file, std::move(from_environment));
  if (!token.ok()) return std::move(token).status();
  if (!token->empty()) options->headers.push_back(cat("Authorization: Bearer ", *token));
  return {};
}

}  // namespace

bool read_command_line(std::vector<std::string> arguments, std::ostream& out, std::ostream& err,
                       ReplayOptions* options, int* exit_code) {
  CLI::App app("Plays requests that telemetry/recorder has recorded against a server of the V2 protocol",
               "atoll-replay");
  const double kMost = std::numeric_limits<double>::max();
  app.set_version_flag("--version", lib::version_text("atoll-replay"));
  app.add_option("FILE", options->files, "The recording; all of its files, if it has several")->required();
  app.add_option("--url", options->url, "The server, as HOST:PORT; https://HOST:PORT for TLS, over gRPC too")
      ->required()
      ->check(check_address);
  app.add_option("--ca-file", options->tls.ca_file, "Certificates that are trusted (PEM), for https");
  CLI::Option* cert = app.add_option("--cert", options->tls.cert_file,
                                     "Certificate that is shown to the server (PEM), for https");
  app.add_option("--key", options->tls.key_file, "Its private key (PEM); default: in the file of --cert")
      ->needs(cert);
  app.add_option("--protocol", options->protocol, "http or grpc")
      ->check(CLI::IsMember({"http", "grpc"}))
      ->capture_default_str();
  app.add_option("--pace", options->pace, "How many times as fast as it was recorded")
      ->check(CLI::Range(1e-6, 1e6))
      ->capture_default_str();
  app.add_flag("--compare", options->compares, "Compare the answers with those that were recorded");
  app.add_option("--rtol", options->tolerance.relative,
                 "Difference of floating point numbers that is let pass, relative to the recorded one")
      ->check(CLI::Range(0.0, kMost))
      ->capture_default_str();
  app.add_option("--atol", options->tolerance.absolute, "Difference that is let pass beside it")
      ->check(CLI::Range(0.0, kMost))
      ->capture_default_str();
  app.add_flag("--latest", options->latest, "Ask for no version, and not for the one that has answered");
  app.add_option("--timeout", options->timeout_s,
                 "Seconds that an answer is waited for, unless the client had a deadline")
      ->check(CLI::Range(1, 86400))
      ->capture_default_str();
  app.add_option("--max-in-flight", options->in_flight_max,
                 "Most requests at a time; further ones go out late")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  app.add_option("--header", options->headers, "A header to send along, as \"NAME: VALUE\", such as a key")
      ->check(check_header)
      ->allow_extra_args(false);
  std::string token_file;
  app.add_option("--token-file", token_file,
                 "File with a token that is sent along as a credential; else ATOLL_TOKEN of the environment");
  app.add_flag("--json", options->json, "Print one JSON object");
  std::reverse(arguments.begin(), arguments.end());  // as CLI11 has it
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::Success& success) {
    *exit_code = app.exit(success, out, err) == 0 ? kDone : kUsage;
    return false;
  } catch (const CLI::ParseError& error) {
    std::string shown;
    runtime::append_escaped(shown, cat(error.what(), lib::flag_suggestion(app)));
    err << "atoll-replay: " << shown << " (see atoll-replay --help)\n";
    *exit_code = kUsage;
    return false;
  }
  Status status = read_url(options);
  if (status.ok()) status = read_token(token_file, options);
  if (!status.ok()) {
    err << "atoll-replay: " << status.message() << '\n';
    *exit_code = kUsage;
  }
  return status.ok();
}

}  // namespace atl::replay
