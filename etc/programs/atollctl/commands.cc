#include "commands.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "atoll/lib/blanks.h"
#include "atoll/lib/given_token.h"
#include "atoll/lib/http_request.h"
#include "atoll/lib/version.h"
#include "completion.h"
#include "key_file.h"
#include "mistakes.h"
#include "model_encryption.h"
#include "views.h"

namespace atl::ctl {
namespace {

using nlohmann::json;

constexpr uint64_t kTimeoutSecondsMax = 31'536'000;  // a year
constexpr uint64_t kCountMax = std::numeric_limits<uint32_t>::max();
constexpr uint64_t kQuotaMax = std::numeric_limits<uint64_t>::max();

/// What was wrong, and how the program ends by it.
struct Failure {
  ExitCode code;
  std::string text;
};

/// One run: CLI11 calls the command that was given, which asks and prints.
class Program {
 public:
  explicit Program(const Context& context) : context_(context) {
    app_.require_subcommand(1);
    app_.fallthrough();
    app_.set_version_flag("--version", lib::version_text("atollctl"));
    app_.add_option("-t,--target", settings_.url,
                    "Server: http://HOST:PORT or https://HOST:PORT; else ATOLL_TARGET of the environment")
        ->capture_default_str();
    app_.add_option("--header", settings_.header,
                    "A header that is sent along: \"NAME: VALUE\", such as a key");
    app_.add_option(
        "--token-file", token_file_,
        "File with a token that is sent along as a credential; else ATOLL_TOKEN of the environment");
    app_.add_option("--ca-file", settings_.ca_file, "Certificates that are trusted (PEM), for https");
    CLI::Option* cert = app_.add_option("--cert", settings_.cert_file,
                                        "Certificate that is shown to the server (PEM), for https");
    app_.add_option("--key", settings_.key_file, "Its private key (PEM); default: in the file of --cert")
        ->needs(cert);
    add_number(app_, "--timeout", 0, kTimeoutSecondsMax, "Seconds for a call; 0, the default: any time",
               [this](uint64_t seconds) { settings_.timeout_s = static_cast<long>(seconds); });
    app_.add_flag("-z,--porcelain", porcelain_, "For scripts: no header, a tab between columns");
    app_.add_flag("--json", json_, "The server's answer as it is");
    add_pool_commands();
    add_lease_commands();
    add_key_commands();
    add_model_commands();
    add_other_commands();
  }

  int run(std::vector<std::string> arguments) {
    if (const char* url = context_.environment("ATOLL_TARGET"); url != nullptr && *url != '\0')
      settings_.url = url;
    const std::vector<std::string> given = arguments;
    std::ranges::reverse(arguments);  // as CLI11 wants them
    try {
      app_.parse(arguments);
    } catch (const CLI::RequiredError& error) {
      context_.err << escaped(what_is_missing(app_, given, error)) << '\n';
      return kUsage;
    } catch (const CLI::ExtrasError&) {
      context_.err << escaped(what_is_not_known(app_)) << '\n';
      return kUsage;
    } catch (const CLI::Success& success) {
      return app_.exit(success, context_.out, context_.err);
    } catch (const CLI::ParseError& error) {
      context_.err << escaped(what_is_wrong(app_, error)) << '\n';
      return kUsage;
    } catch (const Failure& failure) {
      context_.err << "atollctl: " << escaped(failure.text) << '\n';
      return failure.code;
    } catch (const json::exception&) {
      context_.err << "atollctl: " << escaped(settings_.url) << " answers something that is not expected\n";
      return kUnreachable;
    }
    return exit_code_;
  }

 private:
  void add_pool_commands();
  void add_lease_commands();
  void add_lease_request(CLI::App& command);
  void add_lease_names(CLI::App& lease);
  void add_key_commands();
  void make_key_line();
  void list_key_lines();
  void encrypt_model_folder();
  void add_model_commands();
  void add_other_commands();
  void read_token();

  Format format() const { return json_ ? Format::kJson : porcelain_ ? Format::kPorcelain : Format::kTable; }
  Target& target() {
    if (target_ == nullptr) read_token();
    if (std::string wrong = wrong_target(settings_.url); !wrong.empty())
      throw Failure{kUsage, std::move(wrong)};
    if (target_ == nullptr) target_ = context_.connect(settings_);
    return *target_;
  }
  json ask(const char* method, const std::string& path, const json& body = nullptr) {
    Result<Answer> answer = target().call(method, path, body);
    if (answer.ok() && answer->status == 404 && answer->body == json{{"error", "Not Found"}})
      throw Failure{
          kRefused,
          cat("the server at ", settings_.url, " has no ",
              path.starts_with("/v2/repository") ? "such call" : "pools: its manifest has no pools/leases")};
    return body_of(std::move(answer));
  }
  static json body_of(Result<Answer> answer) {
    if (!answer.ok()) throw Failure{kUnreachable, std::string(answer.status().message())};
    if (answer->status >= 200 && answer->status < 300) return std::move(answer->body);
    const json& body = answer->body;
    for (const char* name : {"error", "reason"}) {
      if (body.is_object() && body.contains(name) && body[name].is_string() && body[name] != "")
        throw Failure{kRefused, std::string(without_blanks(body[name].get_ref<const std::string&>()))};
    }
    throw Failure{kRefused, cat("the server answers with status ", answer->status)};
  }

  json lease_request() const;
  void create_lease();
  void show_progress(const json& lease);
  static CLI::App* command(CLI::App& of, const char* name, const char* help, std::function<void()> run) {
    CLI::App* made = of.add_subcommand(name, help);
    made->callback(std::move(run));
    return made;
  }

  const Context& context_;
  CLI::App app_{"Pools, leases and models of an Atoll server.", "atollctl"};
  TargetSettings settings_;
  bool porcelain_ = false, json_ = false;
  std::unique_ptr<Target> target_;
  int exit_code_ = kDone;
  std::string progress_;  ///< the line that was written last

  // What commands take.
  std::string name_, lease_, shell_;
  std::optional<uint64_t> min_, max_, cpus_, gpus_, quota_;
  std::string runtime_, memory_, pool_, duration_, source_, key_;
  std::vector<std::string> models_;
  std::string token_file_, file_;
  NewKey new_key_;
  ModelEncryption encryption_;
  bool force_ = false, any_backends_ = false, auto_renew_ = false;
};

// --- pools ---

void Program::add_pool_commands() {
  CLI::App* pool = app_.add_subcommand("pool", "Pools of instances")->require_subcommand(1);
  CLI::App* create = command(*pool, "create", "Make a pool", [this] {
    json body = {{"name", name_}, {"quota", *quota_}, {"max_instances", *max_}};
    if (min_) body["min_instances"] = *min_;
    if (any_backends_) body["enforce_backends"] = false;
    if (!runtime_.empty()) body["instance"]["runtime"] = runtime_;
    if (cpus_) body["instance"]["cpus"] = *cpus_;
    if (gpus_) body["instance"]["gpus"] = *gpus_;
    if (!memory_.empty()) body["instance"]["memory"] = memory_;
    print_pool(context_.out, ask("POST", "/v2/pools", body), format());
  });
  create->add_option("NAME", name_, "Its name")->required();
  const auto to = [](std::optional<uint64_t>& number) {
    return [&number](uint64_t value) { number = value; };
  };
  add_number(*create, "-q,--quota", 1, kQuotaMax, "Of each instance, in a unit of your own", to(quota_))
      ->required();
  add_number(*create, "--max", 1, kCountMax, "Instances at most", to(max_))->required();
  add_number(*create, "--min", 0, kCountMax, "Instances that are kept up; 0 if it is not said", to(min_));
  create->add_option("--runtime", runtime_, "One of the launcher's runtimes");
  add_number(*create, "--cpus", 0, kCountMax, "CPU cores of each instance", to(cpus_));
  add_number(*create, "--gpus", 0, kCountMax, "GPUs of each instance", to(gpus_));
  create->add_option("--memory", memory_, "Memory of each instance, such as 4GiB");
  create->add_flag("--any-backends", any_backends_, "Instances may mix backends");
  CLI::App* remove = command(*pool, "delete", "Delete a pool", [this] {
    const json gone = ask("DELETE", cat("/v2/pools/", percent_encode(name_), force_ ? "?force=true" : ""));
    if (gone.contains("state") || format() == Format::kJson) {
      print_pool(context_.out, gone, format());  // it goes when its instances have ended
    } else if (format() == Format::kTable) {
      context_.out << escaped(name_) << ": deleted\n";
    }
  });
  remove->add_option("NAME", name_, "The pool")->required();
  remove->add_flag("--force", force_, "Release its leases first");
  command(*pool, "list", "All pools",
          [this] { print_pools(context_.out, ask("GET", "/v2/pools"), format()); });
  CLI::App* status = command(*pool, "status", "A pool's instances, and how full they are", [this] {
    print_pool(context_.out, ask("GET", "/v2/pools/" + percent_encode(name_)), format());
  });
  status->alias("show")->add_option("NAME", name_, "The pool")->required();
  CLI::App* update = command(*pool, "update", "Change how many instances a pool has", [this] {
    json body = json::object();
    if (min_) body["min_instances"] = *min_;
    if (max_) body["max_instances"] = *max_;
    print_pool(context_.out, ask("PATCH", "/v2/pools/" + percent_encode(name_), body), format());
  });
  update->add_option("NAME", name_, "The pool")->required();
  add_number(*update, "--min", 0, kCountMax, "Instances that are kept up", to(min_));
  add_number(*update, "--max", 1, kCountMax, "Instances at most", to(max_));
}

// --- leases ---

void Program::add_lease_request(CLI::App& command) {
  command.add_option("-p,--pool,--triton-pool", pool_, "The pool")->required();
  add_number(command, "-q,--quota", 1, kQuotaMax, "What it takes of one instance", [this](uint64_t quota) {
    quota_ = quota;
  })->required();
  command.add_option("-m,--model", models_, "NAME=REPOSITORY, or NAME of the --source; loaded in this order")
      ->required()
      ->take_all()
      ->expected(1);
  command.add_option("-s,--source", source_, "Model repository of models without one");
  command.add_option("-d,--duration", duration_, "Such as 90s, 4h; else the server's default");
  command.add_flag("--auto-renew", auto_renew_, "It goes on while it is used");
  command.add_option("--idempotency-key", key_, "A call with the same one gives the same lease");
}

json Program::lease_request() const {
  json models = json::array();
  for (const std::string& model : models_) {
    const size_t equal = model.find('=');
    const std::string source = equal == std::string::npos ? source_ : model.substr(equal + 1);
    if (source.empty())
      throw Failure{kUsage, cat("--model ", model, ": expected NAME=REPOSITORY, or --source")};
    models.push_back({{"name", model.substr(0, equal)}, {"source", source}});
  }
  json body = {{"pool", pool_}, {"quota", *quota_}, {"models", std::move(models)}};
  if (!duration_.empty()) body["duration"] = duration_;
  if (auto_renew_) body["auto_renew"] = true;
  if (!key_.empty()) body["idempotency_key"] = key_;
  return body;
}

void Program::show_progress(const json& lease) {
  const std::string line = progress_line(lease);
  if (line == progress_ || format() != Format::kTable) return;
  // The line before is overwritten where that can be seen.
  context_.err << (context_.is_terminal ? "\r\x1b[K" : "") << line << (context_.is_terminal ? "" : "\n")
               << std::flush;
  progress_ = line;
}

void Program::create_lease() {
  Result<Answer> answer =
      target().follow("/v2/leases", lease_request(), [this](const json& lease) { show_progress(lease); });
  if (context_.is_terminal && !progress_.empty()) context_.err << '\n';
  const json lease = body_of(std::move(answer));
  print_lease(context_.out, lease, format());
  if (lease.is_object() && lease.value("state", "") != "ACTIVE") exit_code_ = kRefused;
}

void Program::add_lease_commands() {
  CLI::App* lease = app_.add_subcommand("lease", "Leases of parts of instances")->require_subcommand(1);
  add_lease_request(*command(*lease, "create", "Lease a part of an instance, and wait until its models serve",
                             [this] { create_lease(); }));
  add_lease_request(*command(*lease, "plan", "Where a lease would go; nothing is changed", [this] {
    print_plan(context_.out, ask("POST", "/v2/leases?dry_run=true", lease_request()), format());
  }));
  CLI::App* list = command(*lease, "list", "All leases", [this] {
    print_leases(context_.out,
                 ask("GET", pool_.empty() ? "/v2/leases" : "/v2/leases?pool=" + percent_encode(pool_)),
                 format());
  });
  list->add_option("-p,--pool", pool_, "Of this pool only");
  const auto of_lease = [this](CLI::App* of) {
    of->add_option("LEASE", lease_, "Its id, or a name of it")->required();
  };
  of_lease(command(*lease, "release", "End a lease", [this] {
    print_lease(context_.out, ask("DELETE", "/v2/leases/" + percent_encode(lease_)), format());
  }));
  CLI::App* status = command(*lease, "status", "A lease and its models", [this] {
    print_lease(context_.out, ask("GET", "/v2/leases/" + percent_encode(lease_)), format());
  });
  of_lease(status->alias("show"));
  CLI::App* renew = command(*lease, "renew", "Let a lease go on", [this] {
    const json body = duration_.empty() ? json::object() : json{{"duration", duration_}};
    print_lease(context_.out, ask("POST", cat("/v2/leases/", percent_encode(lease_), "/renew"), body),
                format());
  });
  of_lease(renew);
  renew->add_option("-d,--duration", duration_, "From now on; else the lease's own");
  add_lease_names(*lease);
}

void Program::add_lease_names(CLI::App& lease) {
  CLI::App* name = lease.add_subcommand("name", "Names that stand for leases")->require_subcommand(1);
  CLI::App* create =
      command(*name, "create", "Let a name stand for a lease, in place of another one", [this] {
        const json made = ask("PUT", "/v2/lease_names/" + percent_encode(name_), {{"lease", lease_}});
        print_names(context_.out, {{"names", json::array({made})}}, format());
      });
  create->add_option("NAME", name_, "The name")->required();
  create->add_option("LEASE", lease_, "Id of the lease")->required();
  CLI::App* remove = command(*name, "delete", "Delete a name; its lease stays", [this] {
    const json gone = ask("DELETE", "/v2/lease_names/" + percent_encode(name_));
    if (format() == Format::kJson) context_.out << gone.dump(2) << '\n';
  });
  remove->add_option("NAME", name_, "The name")->required();
  command(*name, "list", "All names",
          [this] { print_names(context_.out, ask("GET", "/v2/lease_names"), format()); });
}

// --- keys, in a file on this machine ---

void Program::read_token() {
  const char* from_environment = context_.environment("ATOLL_TOKEN");
  Result<std::string> token =
      lib::given_token(token_file_, from_environment == nullptr ? "" : from_environment);
  if (!token.ok()) throw Failure{kUsage, std::string(token.status().message())};
  settings_.token = std::move(token).value();
}

void Program::make_key_line() {
  Result<std::string> token = make_key(file_, new_key_);
  if (!token.ok()) throw Failure{kUsage, std::string(token.status().message())};
  context_.out << token.value() << '\n';
  if (format() == Format::kTable && context_.is_terminal) context_.err << "This token is shown only now.\n";
}

void Program::list_key_lines() {
  Result<std::vector<KeyLine>> keys = read_keys(file_);
  if (!keys.ok()) throw Failure{kUsage, std::string(keys.status().message())};
  Table table({"ID", "PERMISSIONS", "TENANT", "EXPIRES"});
  json all = json::array();
  for (const KeyLine& key : keys.value()) {
    table.add({key.id, key.permissions_text, key.tenant, key.expires_text});
    all.push_back({{"id", key.id}, {"permissions", key.permissions_text}});
    if (!key.tenant.empty()) all.back()["tenant"] = key.tenant;
    if (!key.expires_text.empty()) all.back()["expires"] = key.expires_text;
  }
  if (format() == Format::kJson) {
    context_.out << all.dump(2) << '\n';
  } else {
    table.print(context_.out, format());
  }
}

void Program::add_key_commands() {
  CLI::App* key =
      app_.add_subcommand("key", "Keys in a file of security/keys on this machine")->require_subcommand(1);
  CLI::App* make = command(*key, "make", "Make a key: prints its token, which is kept nowhere",
                           [this] { make_key_line(); });
  make->add_option("ID", new_key_.id, "Its name: lower-case letters, digits, '-'")->required();
  make->add_option("-f,--file", file_, "The file; made if there is none")->required();
  make->add_option("-p,--permissions", new_key_.permissions,
                   "'*', or categories with commas between them: health,inference@fraud-*")
      ->required();
  make->add_option("--tenant", new_key_.tenant, "Whose quotas its requests count for");
  make->add_option("--expires", new_key_.expires,
                   "Until when it is good: 2027-01-31T00:00:00Z; else for ever");
  CLI::App* list =
      command(*key, "list", "The keys of a file, without their tokens", [this] { list_key_lines(); });
  list->add_option("-f,--file", file_, "The file")->required();
  CLI::App* remove =
      command(*key, "remove", "Take a key out of a file: its token is good for nothing then", [this] {
        if (Status status = remove_key(file_, new_key_.id); !status.ok())
          throw Failure{kUsage, std::string(status.message())};
      });
  remove->add_option("ID", new_key_.id, "Its name")->required();
  remove->add_option("-f,--file", file_, "The file")->required();
}

// --- models and the server ---

void Program::encrypt_model_folder() {
  const Result<EncryptedModel> made = encrypt_model(encryption_);
  if (!made.ok()) {
    const bool is_refused = made.status().code() == Code::kInvalidArgument;
    throw Failure{is_refused ? kUsage : kRefused, std::string(made.status().message())};
  }
  const EncryptedModel& model = made.value();
  if (format() == Format::kJson) {
    const json text = {{"folder", model.folder}, {"key_id", model.key_id}, {"files", model.files}};
    context_.out << text.dump(2) << '\n';
  } else if (format() == Format::kPorcelain) {
    context_.out << model.folder << '\t' << model.key_id << '\t' << model.files << '\n';
  } else {
    context_.out << escaped(model.folder) << ": " << model.files
                 << (model.files == 1 ? " file was" : " files were") << " encrypted with the key '"
                 << model.key_id << "'\n";
  }
}

void Program::add_model_commands() {
  CLI::App* model =
      app_.add_subcommand("model", "Models of the server that is asked; folders of models on this machine")
          ->require_subcommand(1);
  for (const auto& [verb, help] :
       {std::pair{"load", "Load a model"}, std::pair{"unload", "Unload a model"}}) {
    CLI::App* change = command(*model, verb, help, [this, action = verb] {
      ask("POST", cat("/v2/repository/models/", percent_encode(name_), "/", action), json::object());
    });
    change->add_option("NAME", name_, "The model")->required();
  }
  command(*model, "list", "The index of its repository", [this] {
    print_models(context_.out, ask("POST", "/v2/repository/index", json::object()), format());
  });
  CLI::App* encrypt = command(*model, "encrypt", "Make an encrypted copy of a model's folder on this machine",
                              [this] { encrypt_model_folder(); });
  encrypt->add_option("DIR", encryption_.folder, "The folder of the model")->required();
  encrypt->add_option("--key-file", encryption_.key_file, "File of keys: lines 'ID:KEY'")->required();
  encrypt->add_option("--key-id", encryption_.key_id, "One of them; else the only one");
  encrypt->add_option("-o,--out", encryption_.out, "The new folder; else DIR.encrypted");
}

void Program::add_other_commands() {
  CLI::App* server = app_.add_subcommand("server", "The server that is asked")->require_subcommand(1);
  command(*server, "status", "Whether it is there, and what it is", [this] {
    json status = ask("GET", "/v2");
    const Result<Answer> ready = target().call("GET", "/v2/health/ready", nullptr);
    const bool is_ready = ready.ok() && ready.value().status == 200;
    status["ready"] = is_ready;
    if (!is_ready) exit_code_ = kRefused;
    if (format() == Format::kJson) {
      context_.out << status.dump(2) << '\n';
      return;
    }
    Table table({"SERVER", "VERSION", "READY"});
    table.add({status.value("name", ""), status.value("version", ""), is_ready ? "yes" : "no"});
    table.print(context_.out, format());
  });
  CLI::App* completion =
      command(app_, "completion", "A script for the shell: source <(atollctl completion bash)",
              [this] { context_.out << completion_script(app_, shell_).value_or(""); });
  completion->add_option("SHELL", shell_, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
}

}  // namespace

int run(std::vector<std::string> arguments, const Context& context) {
  return Program(context).run(std::move(arguments));
}

}  // namespace atl::ctl
