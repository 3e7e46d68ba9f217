#include "command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <limits>
#include <ostream>
#include <string_view>

#include "atoll/core/text.h"
#include "atoll/lib/flag_suggestion.h"
#include "atoll/lib/version.h"
#include "atoll/runtime/escape.h"
#include "atoll/runtime/problems.h"

namespace atl::serve {
namespace {

using Texts = std::vector<std::string>;

bool read_bool(const std::string& name, const std::string& text) {
  std::string lower = text;
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; });
  if (lower == "true" || lower == "on" || lower == "1") return true;
  if (lower == "false" || lower == "off" || lower == "0") return false;
  constexpr std::string_view kWords[] = {"true", "on", "false", "off"};
  throw CLI::ValidationError(name, cat("found '", text, "', expected true, on, 1, false, off or 0",
                                       runtime::suggestion(lower, kWords)));
}

int64_t read_number(const std::string& name, const std::string& text, int64_t most) {
  int64_t value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size() && value >= 0 && value <= most) return value;
  throw CLI::ValidationError(name, cat("found '", text, "', expected a whole number from 0 to ", most));
}

void add_bool(CLI::App& app, const std::string& name, bool* value, const std::string& help) {
  app.add_option_function<std::string>(
         name, [=](const std::string& text) { *value = read_bool(name, text); }, help)
      ->type_name("BOOL");
}

void add_number(CLI::App& app, const std::string& name, int64_t* value, int64_t most,
                const std::string& help) {
  app.add_option_function<std::string>(
         name, [=](const std::string& text) { *value = read_number(name, text, most); }, help)
      ->type_name("N");
}

void add_endpoints(CLI::App& app, ServeOptions& options) {
  for (ServeEndpoint& endpoint : options.endpoints) {
    const std::string port = cat("--", endpoint.instance, "-port"), word = endpoint.word;
    app.add_option_function<std::string>(
           port,
           [&endpoint, port](const std::string& text) {
             endpoint.asked =
                 static_cast<uint16_t>(read_number(port, text, std::numeric_limits<uint16_t>::max()));
           },
           cat("Port of ", word, "; 0: a free one. Without the flag ", endpoint.usual,
               ", or one that is free"))
        ->type_name("PORT");
    const bool follows_http = endpoint.address.empty();
    CLI::Option* address = app.add_option(
        cat("--", endpoint.instance, "-address"), endpoint.address,
        cat("Address of ", word, "; ", follows_http ? "that of HTTP" : "127.0.0.1", " if it is left out"));
    address->type_name("ADDRESS");
    if (!follows_http) address->envname("ATOLL_LISTEN_ADDRESS");
    add_bool(app, cat("--allow-", endpoint.instance), &endpoint.allowed,
             cat("Whether to serve ", word, "; true"));
  }
}

void add_tls(CLI::App& app, ServeOptions& options) {
  app.add_option("--tls-cert", options.tls_cert,
                 "PEM file of the server's certificate: HTTP, gRPC and metrics are served by TLS only")
      ->type_name("FILE");
  app.add_option("--tls-key", options.tls_key, "PEM file of its private key, without a password")
      ->type_name("FILE");
}

void add_models(CLI::App& app, ServeOptions& options) {
  const auto set_mode = [&options](const std::string& text) {
    constexpr std::string_view kModes[] = {"none", "poll", "explicit"};
    if (std::ranges::find(kModes, text) == std::end(kModes))
      throw CLI::ValidationError(
          "--model-control-mode",
          cat("found '", text, "', expected none, poll or explicit", runtime::suggestion(text, kModes)));
    options.control_mode = text;
  };
  app.add_option_function<std::string>(
         "--model-control-mode", set_mode,
         "none: what is there at start. poll: changes are followed. explicit: clients load "
         "and unload. Without the flag poll if control/poll is installed, else none")
      ->type_name("MODE");
  add_number(app, "--repository-poll-secs", &options.poll_seconds, 86'400,
             "Seconds between two looks in mode poll; 5");
  app.add_option("--load-model", options.load_models,
                 "Model to load at start in mode explicit, any number of times; *: all")
      ->type_name("NAME")
      ->allow_extra_args(false);
  app.add_option("--model-config-name", options.config_name,
                 "configs/NAME.pbtxt in a model's folder is preferred to config.pbtxt")
      ->type_name("NAME");
  app.add_flag_callback(
      "--disable-auto-complete-config", [&options] { options.completes_configurations = false; },
      "Configurations have to be complete");
  add_bool(app, "--exit-on-error", &options.exit_on_error,
           "Whether a model that does not load at start ends the server with exit code 1; false");
}

void add_rest(CLI::App& app, ServeOptions& options) {
  add_number(app, "--log-verbose", &options.log_verbose, 2,
             "1: the log has debug records, 2: trace records too; 0");
  add_bool(app, "--log-info", &options.log_info, "Whether the log has informational records; false");
  add_bool(app, "--log-warning", &options.log_warning, "Whether the log has warnings; true");
  app.add_option("--log-file", options.log_file,
                 "File that the log goes to; standard error if it is left out")
      ->type_name("FILE");
  const auto set = [&options](const Texts& settings) {
    for (const std::string& setting : settings) {
      const size_t equals = setting.find('=');
      if (equals == std::string::npos || equals == 0)
        throw CLI::ValidationError("--set", cat("found '", setting, "', expected KEY=VALUE"));
      options.settings.push_back(setting);
    }
  };
  app.add_option_function<Texts>("--set", set,
                                 "A key of the manifest, any number of times (docs/manifest.md)")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  app.add_flag("--print-manifest", options.print_manifest,
               "Print the manifest that would be served, for atoll --manifest FILE, and end");
}

std::string description_of(const std::string& word) {
  if (word == "demo") return "Serves a small classifier of handwritten digits, and shows how to ask it.";
  return "Serves what is in a folder: a Triton model repository, ONNX files and other models that have no "
         "configuration.\nCtrl-C ends it, a second one at once.";
}

/// What several flags say together.
std::string contradiction(const ServeOptions& options) {
  if (!options.load_models.empty() && options.control_mode != "explicit")
    return "--load-model needs --model-control-mode=explicit";
  const bool all = std::ranges::find(options.load_models, "*") != options.load_models.end();
  if (all && options.load_models.size() > 1)
    return "--load-model=* already loads all models; leave the others out";
  if (options.exit_on_error && !options.http().allowed)
    return "--exit-on-error asks the server over HTTP, which --allow-http=false leaves out";
  if (options.tls_cert.empty() != options.tls_key.empty())
    return options.tls_cert.empty() ? "--tls-key needs --tls-cert" : "--tls-cert needs --tls-key";
  for (const std::string& setting : options.settings) {
    for (const ServeEndpoint& endpoint : options.endpoints) {
      for (const char* key : {"address", "enabled"}) {
        if (!setting.starts_with(cat("plugin.", endpoint.instance, ".", key, "="))) continue;
        return cat("--set plugin.", endpoint.instance, ".", key, ": is set by --", endpoint.instance,
                   "-address, --", endpoint.instance, "-port and --allow-", endpoint.instance);
      }
    }
  }
  if (std::ranges::none_of(options.endpoints, &ServeEndpoint::allowed))
    return "nothing is allowed to be served";
  return "";
}

}  // namespace

std::string message_line(const std::string& word, std::string_view line) {
  std::string out = cat("atoll ", word, ": ");
  runtime::append_escaped(out, line);
  return out + '\n';
}

std::optional<ServeOptions> read_command_line(const std::string& word, const Texts& arguments,
                                              std::ostream& out, std::ostream& err, int& exit_code) {
  ServeOptions options;
  CLI::App app(description_of(word), cat("atoll ", word));
  if (word == "serve")
    app.add_option("DIR", options.path, "Model repository, folder with models, a model's folder or a file")
        ->required();
  add_endpoints(app, options);
  add_tls(app, options);
  add_models(app, options);
  add_rest(app, options);
  app.set_version_flag("--version", lib::version_text(cat("atoll-", word)));
  app.footer(
      "Exit code: that of the server (0: it was ended by a signal), 128 + N where signal N has killed it; 1: it cannot be "
      "served, 2: the command line or what is to be served is wrong. More: docs/serve.md");
  Texts reversed(arguments.rbegin(), arguments.rend());  // as CLI11 wants them
  std::string wrong;
  try {
    app.parse(reversed);
    wrong = contradiction(options);
  } catch (const CLI::Success& success) {
    exit_code = app.exit(success, out, err);
    return std::nullopt;
  } catch (const CLI::ValidationError& error) {
    wrong = error.what();
  } catch (const CLI::RequiredError&) {
    wrong = cat("DIR: found nothing, expected a folder or a file", lib::flag_suggestion(app),
                " (see atoll serve --help)");
  } catch (const CLI::Error& error) {
    wrong = cat(error.what(), lib::flag_suggestion(app), " (see atoll ", word, " --help)");
  }
  if (wrong.empty()) return options;
  err << message_line(word, wrong);
  exit_code = kExitUsage;
  return std::nullopt;
}

}  // namespace atl::serve
