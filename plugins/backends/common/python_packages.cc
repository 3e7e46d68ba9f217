#include "backends/common/python_packages.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>

#include "atoll/core/text.h"

namespace atl::backends {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kVersionPrefix = "python3.";
constexpr const char* kLibraryFolders[] = {"lib", "lib64"};

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string() : value;
}

/// 11 of "python3.11" and of "python3.11t"; -1: another name.
int minor_of(std::string_view name) {
  if (!name.starts_with(kVersionPrefix)) return -1;
  int minor = -1;
  const std::string_view digits = name.substr(kVersionPrefix.size());
  std::from_chars(digits.data(), digits.data() + digits.size(), minor);
  return minor;
}

/// The folders' names "python3.11" below PREFIX/lib and PREFIX/lib64, the newest first.
std::vector<std::string> versions_in(const fs::path& prefix) {
  std::vector<std::string> names;
  for (const char* lib : kLibraryFolders) {
    std::error_code error;
    for (fs::directory_iterator entry(prefix / lib, error), end; !error && entry != end;
         entry.increment(error)) {
      std::string name = entry->path().filename().string();
      std::error_code ignored;
      if (minor_of(name) >= 0 && entry->is_directory(ignored)) names.push_back(std::move(name));
    }
  }
  std::ranges::sort(names, [](const std::string& a, const std::string& b) {
    return minor_of(a) != minor_of(b) ? minor_of(a) > minor_of(b) : a < b;
  });
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

/// Folders that are there, each once however it is spelled.
class Folders {
 public:
  void add(const fs::path& folder) {
    std::error_code error;
    if (!fs::is_directory(folder, error)) return;
    const fs::path real = fs::canonical(folder, error);
    if (error || std::ranges::find(real_, real) != real_.end()) return;
    real_.push_back(real);
    found_.push_back(folder.lexically_normal().string());
  }
  void add_environment(const fs::path& prefix) {
    for (const std::string& version : versions_in(prefix)) {
      for (const char* lib : kLibraryFolders) add(prefix / lib / version / "site-packages");
    }
  }
  /// \param versions  the names of the Python's own folders
  void add_system(const fs::path& prefix, const std::vector<std::string>& versions,
                  const fs::path& user_base) {
    for (const std::string& version : versions) {
      if (user_base.is_absolute()) add(user_base / "lib" / version / "site-packages");
      for (const fs::path& root : {prefix / "local", prefix}) {
        for (const char* lib : kLibraryFolders) {
          add(root / lib / version / "dist-packages");
          add(root / lib / version / "site-packages");
        }
      }
      add(prefix / "lib" / "python3" / "dist-packages");
    }
  }
  std::vector<std::string> take() { return std::move(found_); }

 private:
  std::vector<std::string> found_;
  std::vector<fs::path> real_;
};

/// Whether a virtual environment shows its programs the packages of the Python that it was made with.
bool shows_system_packages(const fs::path& settings) {
  std::ifstream file(settings);
  std::string line;
  for (int count = 0; count < 64 && std::getline(file, line); ++count) {
    std::erase(line, ' ');
    if (line == "include-system-site-packages=true") return true;
  }
  return false;
}

/// \param folder  of PATH \returns whether its python3 is a Python's own program
bool add_python_of(const fs::path& folder, const fs::path& user_base, Folders& folders) {
  const fs::path program = folder / "python3";
  std::error_code error;
  if (!fs::is_regular_file(program, error) || ::access(program.c_str(), X_OK) != 0) return false;
  // Beside an environment's program, or above its folder; the program itself is a link that leads out of the environment.
  for (const fs::path& prefix : {folder.parent_path(), folder}) {
    const fs::path settings = prefix / "pyvenv.cfg";
    if (!fs::exists(settings, error)) continue;
    folders.add_environment(prefix);
    if (!shows_system_packages(settings)) return true;
    break;
  }
  const fs::path real = fs::canonical(program, error);
  if (error) return false;
  const fs::path prefix = real.parent_path().parent_path();
  std::vector<std::string> versions = versions_in(prefix);
  const std::string own = real.filename().string();
  if (std::ranges::find(versions, own) != versions.end()) versions = {own};
  folders.add_system(prefix, versions, user_base);
  return !versions.empty();
}

}  // namespace

PythonSearch PythonSearch::of_process(std::string own_file) {
  std::string base = variable("PYTHONUSERBASE"), home = variable("HOME");
  if (base.empty() && !home.empty()) base = cat(home, "/.local");
  return {std::move(own_file), variable("VIRTUAL_ENV"), variable("PATH"), std::move(base)};
}

std::vector<std::string> python_package_folders(const PythonSearch& search) {
  Folders folders;
  const fs::path plugins = fs::path(search.own_file).parent_path().parent_path();
  const fs::path server = plugins.parent_path().parent_path().parent_path();
  if (server.is_absolute() && server.filename() == "atoll_server") folders.add(server.parent_path());
  if (fs::path(search.virtual_env).is_absolute()) folders.add_environment(search.virtual_env);
  for (std::string_view rest = search.path; !rest.empty();) {
    const size_t end = std::min(rest.find(':'), rest.size());
    fs::path folder = fs::path(rest.substr(0, end)).lexically_normal();
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (!folder.is_absolute()) continue;
    if (!folder.has_filename()) folder = folder.parent_path();  // "/usr/bin/"
    if (add_python_of(folder, search.user_base, folders)) break;
  }
  return folders.take();
}

}  // namespace atl::backends
