#include "serve.h"

#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <optional>
#include <ostream>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include "atoll/core/text.h"
#include "atoll/lib/http_request.h"
#include "atoll/runtime/escape.h"
#include "command_line.h"
#include "demo.h"
#include "discovery.h"
#include "made_folder.h"
#include "manifest_text.h"
#include "progress.h"

namespace atl::serve {
namespace {

namespace fs = std::filesystem;

constexpr size_t kRemarksMax = 20;
constexpr int kAskFirstMs = 20, kAskLastMs = 500;
constexpr int kQuietEndMs = 1000;  // an end that takes longer gets a line
constexpr const char* kDemoModel = "digits";

/// Whether a terminal is still there. One that is closed ends what was started in it with SIGHUP.
bool is_terminal() noexcept {
  termios settings{};
  return ::tcgetattr(STDERR_FILENO, &settings) == 0;
}

class Serve {
 public:
  Serve(std::string word, ServeOptions options, const ServeContext& context, const SignalFeed& signals,
        std::ostream& out, std::ostream& err)
      : word_(std::move(word)),
        options_(std::move(options)),
        context_(context),
        signals_(signals),
        out_(out),
        err_(err),
        loaded_(options_.load_models.begin(), options_.load_models.end()),
        progress_(is_selective() ? &loaded_ : nullptr) {}

  int run() {
    auto folder = MadeFolder::make();
    if (!folder.ok()) return fail(folder.status());
    auto found = look(*folder);
    if (!found.ok()) return fail(found.status());
    auto repositories = make_repositories(*folder, *found);
    if (!repositories.ok()) return fail(repositories.status());
    auto plan = plan_serve(options_, context_, *found, *repositories);
    if (!plan.ok()) return fail(plan.status());
    for (const std::string& remark : plan->remarks) say(remark);
    auto manifest = manifest_of(*plan);
    if (!manifest.ok()) return fail(manifest.status());
    if (options_.print_manifest) return print(*manifest, *folder);
    if (Status written = folder->write("manifest.toml", *manifest); !written.ok()) return fail(written);
    auto server = ServerProcess::start(arguments_for(*plan, folder->path() / "manifest.toml"));
    if (!server.ok()) return fail(server.status());
    return attend(*server);
  }

 private:
  bool is_demo() const { return word_ == "demo"; }
  /// Whether only some models are to be loaded.
  bool is_selective() const {
    return options_.control_mode == "explicit" && !(loaded_.size() == 1 && loaded_.contains("*"));
  }
  void say(std::string_view line) { err_ << message_line(word_, line) << std::flush; }
  int fail(const Status& failure) {
    const std::string text = failure.text();
    for (std::string_view rest = text; !rest.empty();) {
      const size_t end = std::min(rest.find('\n'), rest.size());
      say(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    const bool is_usage = failure.code() == Code::kInvalidArgument || failure.code() == Code::kNotFound;
    return is_usage ? kExitUsage : kExitFailure;
  }

  /// What is to be served. Errors: NOT_FOUND, INVALID_ARGUMENT there is nothing.
  Result<Discovery> look(const MadeFolder& folder) {
    fs::path path = options_.path;
    if (is_demo()) {
      path = folder.path() / cat(kDemoModel, ".onnx");
      ATOLL_RETURN_IF_ERROR(folder.write(path.filename(), demo_model()));
    }
    auto found =
        discover(path, [this](std::string_view backend) { return backend_refusal(context_, backend); });
    if (!found.ok()) return found;
    for (size_t i = 0; i < std::min(found->remarks.size(), kRemarksMax); ++i) say(found->remarks[i]);
    if (found->remarks.size() > kRemarksMax)
      say(cat("and ", found->remarks.size() - kRemarksMax, " more that are not served"));
    if (!found->folders.empty() || !found->loose.empty()) return found;
    std::error_code ignored;
    // What is empty now may be filled later.
    found->is_repository = fs::is_directory(path, ignored) && found->remarks.empty() &&
                           !options_.control_mode.empty() && options_.control_mode != "none";
    if (found->is_repository) return found;
    return not_found(path.string(), ": found no model that can be served");
  }

  Result<std::vector<fs::path>> make_repositories(const MadeFolder& folder, const Discovery& found) {
    std::vector<fs::path> repositories;
    if (found.is_repository) repositories.push_back(found.folder);
    std::vector<FolderLink> links;
    if (!found.is_repository) links = found.folders;
    makes_repository_ = !links.empty() || !found.loose.empty();
    if (!makes_repository_) return repositories;
    auto made = folder.make_repository(found.loose, links);
    if (!made.ok()) return std::move(made).status();
    for (const LooseModel& model : found.loose)
      sources_.emplace_back((*made / model.name / "1" / model.kind->file).string(), model.source.string());
    repositories.push_back(std::move(made).value());
    return repositories;
  }

  /// Errors: as manifest_with(); NOT_FOUND the default manifest is not there.
  Result<std::string> manifest_of(const ServePlan& plan) const {
    std::ifstream file(context_.manifest, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    if (!file) return not_found(context_.manifest.string(), ": cannot be read");
    std::vector<std::string> settings = plan.keys.overrides();
    // Where the server is started they are given to it, which says of a wrong one where it comes from.
    if (options_.print_manifest)
      settings.insert(settings.end(), options_.settings.begin(), options_.settings.end());
    return manifest_with(text, context_.manifest.string(), settings);
  }

  int print(const std::string& manifest, MadeFolder& folder) {
    out_ << manifest << std::flush;
    if (!out_) return kExitFailure;
    if (!makes_repository_) return kExitOk;
    say(cat("the manifest serves what was made in ", folder.path().string(),
            ", which stays; remove it when it is of no more use"));
    folder.keep();
    return kExitOk;
  }

  std::vector<std::string> arguments_for(const ServePlan& plan, const fs::path& manifest) const {
    std::vector<std::string> arguments = {context_.atoll.string(), "--manifest", manifest.string()};
    // Once more, as the environment may have other addresses for the server, where nobody would find it.
    for (const std::string& setting : plan.endpoints.overrides())
      arguments.insert(arguments.end(), {"--set", setting});
    for (const std::string& setting : options_.settings)
      arguments.insert(arguments.end(), {"--set", setting});
    return arguments;
  }

  /// Until the server has ended. \returns its exit code
  int attend(ServerProcess& server) {
    const bool had_terminal = is_terminal();
    bool asks = options_.http().allowed;
    if (!asks) announce();
    bool is_ended_by_us = false, says_what_it_waits_for = true;
    int wait_ms = kAskFirstMs;
    for (;;) {
      const int number = signals_.next(asks ? wait_ms : ends_ && says_what_it_waits_for ? kQuietEndMs : -1);
      if (const auto code = server.poll()) return report_end(*code);
      if (number == 0 && ends_ && std::exchange(says_what_it_waits_for, false))
        say("ends when what it has accepted is answered, at the latest after drain_timeout; once more Ctrl-C ends it at once");
      if (number != 0 && number != SIGCHLD) {
        const bool is_hung_up = number == SIGHUP && had_terminal && !is_terminal();
        const int passed = is_hung_up ? SIGTERM : number;
        ends_ = ends_ || passed == SIGTERM || passed == SIGINT;
        if (ends_) asks = false;
        server.send(passed);
      }
      if (!asks) continue;
      asks = ask();
      wait_ms = std::min(wait_ms * 3 / 2, kAskLastMs);
      if (asks || !options_.exit_on_error || progress_.failed() == 0 || is_ended_by_us) continue;
      say(cat("models that have failed: ", progress_.failed(), "; --exit-on-error ends the server"));
      is_ended_by_us = ends_ = is_refused_ = true;
      server.send(SIGTERM);
    }
  }

  int report_end(int code) {
    if (code != 0 || !ends_) say(cat("the server has ended with exit code ", code));
    return code == 0 && is_refused_ ? kExitFailure : code;
  }

  /// \returns whether to ask again
  bool ask() {
    auto index = ask_index(options_.http().client_text(), options_.tls_cert, signals_.descriptor());
    if (!index.ok()) {
      say(cat("the server does not say which models it has: ", index.status().message()));
      announce();
      return false;
    }
    if (!*index) return true;
    for (std::string& line : progress_.update(**index)) say(with_sources(std::move(line)));
    if (!progress_.is_decided()) return true;
    announce();
    return false;
  }

  /// What the server says of a link that was made, said of the file that it leads to.
  std::string with_sources(std::string line) const {
    for (const auto& [link, source] : sources_) {
      for (size_t at = 0; (at = line.find(link, at)) != std::string::npos; at += source.size())
        line.replace(at, link.size(), source);
    }
    return line;
  }

  /// The addresses, and something that can be done with them.
  void announce() {
    std::string line;
    for (const ServeEndpoint& endpoint : options_.endpoints) {
      if (!endpoint.allowed) continue;
      const bool is_metrics = std::string_view(endpoint.instance) == "metrics",
                 is_http = &endpoint == &options_.http();
      line += cat(line.empty() ? "" : ", ", is_http ? "" : cat(endpoint.word, " "),
                  is_http || is_metrics ? options_.scheme() : "", endpoint.client_text(),
                  is_metrics ? "/metrics" : "");
    }
    if (has_openai_api(options_, context_))
      line += cat(", OpenAI's API ", options_.scheme(), options_.http().client_text(), "/v1");
    if (options_.http().allowed) {
      const std::string url = cat(options_.scheme(), options_.http().client_text(), "/v2");
      line += progress_.example().empty()
                  ? cat("; no model is ready; the server: ", curl(), url)
                  : cat("; a model: ", curl(), url, "/models/", percent_encode(progress_.example()));
    }
    out_ << "serving at " << line << std::endl;
    if (is_demo() && progress_.example() == kDemoModel) show_demo();
  }

  /// The beginning of a command that trusts this server.
  std::string curl() const {
    std::string begin = "curl ";
    if (!options_.tls_cert.empty())
      runtime::append_escaped(begin, cat("--cacert '", options_.tls_cert, "' "));
    return begin;
  }

  void show_demo() {
    const DemoDigit& digit = demo_digits()[3];
    out_ << "\nThe model " << kDemoModel << " reads handwritten digits of 8 x 8 pixels, such as\n\n"
         << demo_drawing(digit) << "\nAsk it which digit this is:\n\n"
         << curl() << "-s " << options_.scheme() << options_.http().client_text() << "/v2/models/"
         << kDemoModel << "/infer -d '" << demo_request(digit) << "'\n\nExpected: the answer has \"data\":["
         << digit.label << "].\nCtrl-C ends the server." << std::endl;
  }

  const std::string word_;
  ServeOptions options_;
  const ServeContext& context_;
  const SignalFeed& signals_;
  std::ostream& out_;
  std::ostream& err_;
  const std::set<std::string> loaded_;
  Progress progress_;
  bool makes_repository_ = false;
  std::vector<std::pair<std::string, std::string>> sources_;  // links that were made, and what they lead to
  bool ends_ = false;                                         // somebody has asked for the end
  bool is_refused_ = false;                                   // and it was --exit-on-error
};

}  // namespace

int serve(const std::string& word, ServeOptions options, const ServeContext& context,
          const SignalFeed& signals, std::ostream& out, std::ostream& err) {
  return Serve(word, std::move(options), context, signals, out, err).run();
}

}  // namespace atl::serve
