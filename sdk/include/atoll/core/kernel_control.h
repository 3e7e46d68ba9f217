/// What the server runs with, what an edited manifest would change, and the reload that applies it. Service
/// "atoll.kernel_control/1", provided by the kernel and used by `frontends/console`.
///
///     const std::shared_ptr<const RunningManifest> running = kernel_control->running();
///     kernel_control->compare(std::nullopt, [](Result<ManifestDifference> found) { ... });  // the file on disk
///     const Status begun = kernel_control->apply();                                         // as SIGHUP
///
/// Nothing here writes a manifest: who wants another one edits the file.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/status.h"

namespace atl {

/// An option of a plugin instance, with the value that the instance has. Values are texts as a manifest has them: `true`,
/// `"250ms"`, `["a", "b"]`, `{ key = "value" }`.
///
/// Secrets are not among them. Of an option that is one by option_secret() (core/moved_option.h), or whose type is a string,
/// a list or a map and whose name has one of the words password, passphrase, secret, token, credential, credentials and
/// restricted and does not end with file, path or header, the value is empty, and is_secret is true. Of other maps the
/// members whose own names are such have `"***"` in place of their values.
struct OptionState {
  std::string key;
  /// As in the reference of options: "duration".
  std::string type;
  /// Empty of secrets, which have a value or none: see is_default.
  std::string value;
  /// The default; empty of secrets and of options that have to be set.
  std::string default_value;
  /// What the option is for, in one sentence.
  std::string help;
  /// Whether the value is the default, set or not.
  bool is_default = false;
  /// Whether the value is kept from everybody.
  bool is_secret = false;
};

/// An instance, and all options of its plugin in the order of its option table.
struct InstanceOptions {
  /// In the manifest: "http".
  std::string instance;
  /// "frontends/http"
  std::string plugin;
  std::vector<OptionState> options;
};

/// The manifest that is applied.
struct RunningManifest {
  /// Its number; 0: none is yet.
  uint64_t generation = 0;
  /// In the order in which they were started.
  std::vector<InstanceOptions> instances;
};

/// An option that would have another value.
struct OptionDifference {
  std::string key;
  /// As OptionState::value.
  std::string before;
  std::string after;
  bool is_secret = false;
};

/// What would become of an instance.
struct InstanceDifference {
  /// kAdded: it would be made. kRemoved: it would end. kReplaced: another one would be made beside it and take its place.
  /// kChanged: it would go on, with other options.
  enum class Kind : uint32_t { kAdded = 0, kRemoved = 1, kReplaced = 2, kChanged = 3 };
  std::string instance;
  std::string plugin;
  Kind kind = Kind::kAdded;
  /// Of kReplaced: "options", "plugin", "file", "needs", or "it needs NAME", which is replaced, too.
  std::string why;
  std::vector<OptionDifference> options;
};

/// What would change if a manifest was applied. A reload that begins now may still be refused: what instances find out
/// when they are made and started is not known before.
struct ManifestDifference {
  /// The generation that it was compared with.
  uint64_t generation = 0;
  /// Ordered by name; those to which nothing would happen are left out.
  std::vector<InstanceDifference> instances;
  /// Whether [atoll] or [log] differ.
  bool has_own_changes = false;
  /// Instances whose files the server has not opened. None of their code runs here, so their options are not compared or
  /// checked, nor is it whether every instance has the services that it needs. The reload does both, after a trial in a
  /// process of its own.
  std::vector<std::string> unopened;
};

/// The kernel's own state. [any]
class KernelControl {
 public:
  static constexpr std::string_view kInterfaceId = "atoll.kernel_control/1";

  /// Called once, on the control thread, if not inside compare(). It returns soon. A failure's text has every problem of
  /// the manifest, one line each: INVALID_ARGUMENT keys and values; FAILED_PRECONDITION a plugin, or plugins that do not
  /// fit together; NOT_FOUND there is no such file; UNIMPLEMENTED the server is inside a program, and reads its manifest once.
  using Compared = std::function<void(Result<ManifestDifference>)>;

  /// Never null; what it leads to does not change.
  virtual std::shared_ptr<const RunningManifest> running() const noexcept = 0;
  /// Compares a manifest with what runs, and changes nothing. What the command line and the environment override counts
  /// for it, too. Plugins whose files are open check their options, as for a reload.
  /// \param text  of the manifest; without one the file on disk is read
  virtual void compare(std::optional<std::string> text, Compared done) noexcept = 0;
  /// Has the manifest read from its file again and applied, as SIGHUP does, and does not wait for it: ReloadChanged
  /// (core/reload_events.h) tells of the end.
  /// Errors: UNIMPLEMENTED the server is inside a program.
  virtual Status apply() noexcept = 0;

 protected:
  ~KernelControl() = default;
};

}  // namespace atl
