#include "pools/leases/store/store.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include <bit>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "atoll/core/file_descriptor.h"
#include "atoll/core/text.h"

namespace atl::pools {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFileName = "pools.sqlite";
/// In the file's head: that it is one of ours.
constexpr int kApplicationId = 0x41746c70;

constexpr const char* kTables = R"(
  CREATE TABLE pools (
    name TEXT PRIMARY KEY, min_instances INTEGER NOT NULL, max_instances INTEGER NOT NULL, quota INTEGER NOT NULL,
    enforce_backends INTEGER NOT NULL, runtime TEXT NOT NULL, cpus INTEGER NOT NULL, gpus INTEGER NOT NULL,
    memory_bytes INTEGER NOT NULL, is_deleting INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE instances (
    pool TEXT NOT NULL, number INTEGER NOT NULL, id TEXT NOT NULL, backends_state INTEGER NOT NULL,
    backends TEXT NOT NULL, key TEXT NOT NULL, PRIMARY KEY (pool, number)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE leases (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, pool TEXT NOT NULL, quota INTEGER NOT NULL,
    wanted_duration_ns INTEGER, auto_renew_duration_ns INTEGER, auto_renew_window_ns INTEGER,
    idempotency_key TEXT NOT NULL, duration_ns INTEGER NOT NULL, state INTEGER NOT NULL, instance INTEGER NOT NULL,
    has_place INTEGER NOT NULL,
    created_wall_ns INTEGER NOT NULL, expires_wall_ns INTEGER NOT NULL, ended_wall_ns INTEGER NOT NULL,
    failure INTEGER NOT NULL, reason TEXT NOT NULL, owner TEXT NOT NULL
  ) STRICT;
  CREATE TABLE lease_models (
    lease TEXT NOT NULL, position INTEGER NOT NULL, name TEXT NOT NULL, source TEXT NOT NULL,
    PRIMARY KEY (lease, position)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE models (
    name TEXT NOT NULL, source TEXT NOT NULL, backends TEXT NOT NULL, PRIMARY KEY (name, source)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE lease_names (
    owner TEXT NOT NULL, name TEXT NOT NULL, lease TEXT NOT NULL, PRIMARY KEY (owner, name)
  ) STRICT, WITHOUT ROWID;
)";

/// Each from the schema before to the next one: from 1 to 2, from 2 to 3.
constexpr const char* kUpgrades[] = {R"(
  BEGIN IMMEDIATE;
  ALTER TABLE instances ADD COLUMN key TEXT NOT NULL DEFAULT '';
  PRAGMA user_version = 2;
  COMMIT
)",
                                     R"(
  BEGIN IMMEDIATE;
  ALTER TABLE leases ADD COLUMN owner TEXT NOT NULL DEFAULT '';
  ALTER TABLE lease_names RENAME TO lease_names_2;
  CREATE TABLE lease_names (
    owner TEXT NOT NULL, name TEXT NOT NULL, lease TEXT NOT NULL, PRIMARY KEY (owner, name)
  ) STRICT, WITHOUT ROWID;
  INSERT INTO lease_names SELECT '', name, lease FROM lease_names_2;
  DROP TABLE lease_names_2;
  PRAGMA user_version = 3;
  COMMIT
)"};
static_assert(std::size(kUpgrades) == Store::kSchema - 1);

Code code_of(const SQLite::Exception& failure) noexcept {
  switch (failure.getErrorCode()) {
    case SQLITE_FULL:
      return Code::kResourceExhausted;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return Code::kDataLoss;
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return Code::kInvalidArgument;
    default:
      return Code::kUnavailable;
  }
}

Status failed(std::string_view what, const SQLite::Exception& failure) {
  if (failure.getErrorCode() == SQLITE_BUSY)
    return unavailable(what, ": another process has it open, expected one server a state directory");
  return make_status(code_of(failure), what, ": ", std::string_view(failure.what()));
}

/// Whole numbers of SQLite have a sign; these may use all 64 bits.
int64_t as_signed(uint64_t value) noexcept { return std::bit_cast<int64_t>(value); }
uint64_t as_unsigned(int64_t value) noexcept { return std::bit_cast<uint64_t>(value); }

/// Names have no control characters.
std::string join(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += cat(text.empty() ? "" : "\n", name);
  return text;
}
std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> names;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    names.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return names;
}

void sync_directory(const fs::path& directory) {
  const FileDescriptor opened(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (opened.get() >= 0) (void)::fsync(opened.get());
}

/// The file comes into being with its tables and not before them, so one without is damaged and not new.
void create(const fs::path& file) {
  const fs::path draft = cat(file.native(), ".new");
  fs::remove(draft);
  // Empty, it is a new database to SQLite, whose further files are as private as this one.
  (void)FileDescriptor(::open(draft.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600)).valid();
  {
    SQLite::Database database(draft, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    database.exec("PRAGMA synchronous = FULL");
    database.exec(cat("PRAGMA application_id = ", kApplicationId));
    database.exec(cat("PRAGMA user_version = ", Store::kSchema));
    database.exec(cat("BEGIN; ", kTables, "COMMIT"));
  }
  fs::rename(draft, file);
  sync_directory(file.parent_path());
}

}  // namespace

class Store::Database {
 public:
  explicit Database(const std::string& file)
      : sqlite_(file, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE, 0), file_(file) {}

  const std::string& file() const noexcept { return file_; }
  SQLite::Database& sqlite() noexcept { return sqlite_; }
  int64_t number(const std::string& query) { return sqlite_.execAndGet(query).getInt64(); }

  Status prepare() {
    // Before anything else: nobody else has it open, nor will have. There is no shared memory either then.
    sqlite_.exec("PRAGMA locking_mode = EXCLUSIVE");
    ATOLL_RETURN_IF_ERROR(check());
    sqlite_.exec("PRAGMA journal_mode = WAL");
    sqlite_.exec("PRAGMA synchronous = FULL");  // synced before write() returns
    sqlite_.exec("BEGIN IMMEDIATE; COMMIT");
    for (int64_t schema = number("PRAGMA user_version"); schema < kSchema; ++schema)
      sqlite_.exec(kUpgrades[schema - 1]);
    return {};
  }

  void apply(const PoolRecord& record);
  void apply(const DropPool& pool) { run("DELETE FROM pools WHERE name = ?", pool.name); }
  void apply(const InstanceRecord& instance);
  void apply(const DropInstance& instance) {
    run("DELETE FROM instances WHERE pool = ? AND number = ?", instance.pool, instance.number);
  }
  void apply(const LeaseRecord& lease);
  void apply(const DropLease& lease) {
    run("DELETE FROM leases WHERE id = ?", lease.id);
    run("DELETE FROM lease_models WHERE lease = ?", lease.id);
  }
  void apply(const LeasedModel& model) {
    run("INSERT OR REPLACE INTO models VALUES (?, ?, ?)", model.name, model.source, join(model.backends));
  }
  void apply(const LeaseName& name) {
    run("INSERT OR REPLACE INTO lease_names VALUES (?, ?, ?)", name.owner, name.name, name.lease);
  }
  void apply(const DropLeaseName& name) {
    run("DELETE FROM lease_names WHERE owner = ? AND name = ?", name.owner, name.name);
  }

 private:
  template <class... Values>
  void run(const char* statement, const Values&... values) {
    SQLite::Statement prepared(sqlite_, statement);
    int at = 0;
    (bind(prepared, ++at, values), ...);
    prepared.exec();
  }
  template <class Value>
  static void bind(SQLite::Statement& statement, int at, const Value& value) {
    if constexpr (std::is_integral_v<Value>) {
      statement.bind(at, static_cast<int64_t>(value));
    } else {
      statement.bind(at, value);
    }
  }
  static void bind(SQLite::Statement& statement, int at, const std::optional<int64_t>& value) {
    if (value) statement.bind(at, *value);
  }
  Status check() {
    const int64_t application = number("PRAGMA application_id");
    if (application != kApplicationId)
      return make_status(Code::kFailedPrecondition, file_, " is no database of pools, or is cut off");
    const int64_t schema = number("PRAGMA user_version");
    if (schema < 1 || schema > kSchema) {
      return make_status(Code::kFailedPrecondition, file_, " has schema ", schema, ", this server knows ",
                         kSchema, ": it is of another version of the server");
    }
    const std::string found = sqlite_.execAndGet("PRAGMA quick_check(1)").getString();
    if (found != "ok") return make_status(Code::kDataLoss, file_, " is damaged: ", found);
    return {};
  }

  SQLite::Database sqlite_;
  const std::string file_;
};

void Store::Database::apply(const PoolRecord& record) {
  const PoolDefinition& pool = record.definition;
  const InstanceDefinition& instance = pool.instance;
  run("INSERT OR REPLACE INTO pools VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", pool.name, pool.min_instances,
      pool.max_instances, as_signed(pool.quota), pool.enforce_backends, instance.runtime, instance.cpus,
      instance.gpus, as_signed(instance.memory_bytes), record.is_deleting);
}

void Store::Database::apply(const InstanceRecord& instance) {
  run("INSERT OR REPLACE INTO instances VALUES (?, ?, ?, ?, ?, ?)", instance.pool, instance.number,
      instance.id, static_cast<int64_t>(instance.backends_state), join(instance.backends), instance.key);
}

void Store::Database::apply(const LeaseRecord& lease) {
  const LeaseDefinition& definition = lease.definition;
  std::optional<int64_t> renew_duration_ns, renew_window_ns;
  if (definition.auto_renew) {
    renew_duration_ns = definition.auto_renew->duration_ns;
    renew_window_ns = definition.auto_renew->window_ns;
  }
  // Its place in the order of creation stays.
  run(R"(INSERT INTO leases (id, pool, quota, wanted_duration_ns, auto_renew_duration_ns, auto_renew_window_ns,
           idempotency_key, duration_ns, state, instance, has_place, created_wall_ns, expires_wall_ns,
           ended_wall_ns, failure, reason, owner)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
         ON CONFLICT (id) DO UPDATE SET duration_ns = excluded.duration_ns, state = excluded.state,
           instance = excluded.instance, has_place = excluded.has_place, expires_wall_ns = excluded.expires_wall_ns,
           ended_wall_ns = excluded.ended_wall_ns, failure = excluded.failure, reason = excluded.reason)",
      lease.id, definition.pool, as_signed(definition.quota), definition.duration_ns, renew_duration_ns,
      renew_window_ns, definition.idempotency_key, lease.duration_ns, static_cast<int64_t>(lease.state),
      lease.instance, lease.has_place, lease.created_wall_ns, lease.expires_wall_ns, lease.ended_wall_ns,
      static_cast<int64_t>(lease.failure), lease.reason, definition.owner);
  for (size_t i = 0; i < definition.models.size(); ++i) {
    run("INSERT OR IGNORE INTO lease_models VALUES (?, ?, ?, ?)", lease.id, i, definition.models[i].name,
        definition.models[i].source);
  }
}

Store::Store(std::unique_ptr<Database> database) : database_(std::move(database)) {}
Store::~Store() = default;

Result<std::unique_ptr<Store>> Store::open(const std::string& directory) {
  const std::string file = directory.empty() ? ":memory:" : (fs::path(directory) / kFileName).native();
  try {
    if (directory.empty()) {
      auto database = std::make_unique<Database>(file);
      database->sqlite().exec(kTables);
      return std::unique_ptr<Store>(new Store(std::move(database)));
    }
    std::error_code error;
    fs::create_directories(directory, error);
    if (!fs::is_directory(directory)) {
      return invalid_argument("'", directory, "' cannot be made a directory: ",
                              error ? error.message() : std::string("there is a file"));
    }
    if (!fs::exists(file)) create(file);
    // One of an earlier version may have been made for others to read.
    fs::permissions(file, fs::perms::group_all | fs::perms::others_all, fs::perm_options::remove, error);
    auto database = std::make_unique<Database>(file);
    ATOLL_RETURN_IF_ERROR(database->prepare());
    return std::unique_ptr<Store>(new Store(std::move(database)));
  } catch (const SQLite::Exception& failure) {
    return failed(file, failure);
  } catch (const fs::filesystem_error& failure) {
    return invalid_argument(file, ": ", failure.code().message());
  }
}

Status Store::write(std::span<const Change> changes) {
  Status status = apply(changes);
  if (std::exchange(is_failing_, !status.ok()) == !status.ok() || log_ == nullptr) return status;
  if (status.ok()) {
    log_->info(file(), " can be written again");
  } else {
    log_->error(file(), ": ", status.message(),
                "; pools and leases stay as they are until it can be written");
  }
  return status;
}

Status Store::apply(std::span<const Change> changes) {
  try {
    SQLite::Transaction transaction(database_->sqlite());
    for (const Change& change : changes)
      std::visit([&](const auto& record) { database_->apply(record); }, change);
    transaction.commit();
  } catch (const SQLite::Exception& failure) {
    const bool is_damaged = code_of(failure) == Code::kDataLoss;
    return make_status(is_damaged ? Code::kDataLoss : Code::kUnavailable,
                       "the change cannot be recorded: ", std::string_view(failure.what()));
  }
  return {};
}

const std::string& Store::file() const noexcept { return database_->file(); }

// --- reading ---

namespace {

/// One row, column by column.
class Row {
 public:
  explicit Row(const SQLite::Statement& statement) : statement_(statement) {}

  std::string text() { return statement_.getColumn(at_++).getString(); }
  int64_t integer() { return statement_.getColumn(at_++).getInt64(); }
  uint64_t unsigned_integer() { return as_unsigned(integer()); }
  std::optional<int64_t> optional_integer() {
    const SQLite::Column column = statement_.getColumn(at_++);
    return column.isNull() ? std::nullopt : std::optional<int64_t>(column.getInt64());
  }
  /// Nothing beyond `most` was written.
  uint32_t small(uint32_t most) {
    const int64_t value = integer();
    wrong_ |= value < 0 || value > most;
    return static_cast<uint32_t>(value);
  }
  bool is_wrong() const noexcept { return wrong_; }

 private:
  const SQLite::Statement& statement_;
  int at_ = 0;
  bool wrong_ = false;
};

PoolRecord pool_of(Row& row) {
  PoolRecord record;
  PoolDefinition& pool = record.definition;
  pool.name = row.text();
  pool.min_instances = row.small(kInstancesMax);
  pool.max_instances = row.small(kInstancesMax);
  pool.quota = row.unsigned_integer();
  pool.enforce_backends = row.integer() != 0;
  pool.instance.runtime = row.text();
  pool.instance.cpus = row.small(UINT32_MAX);
  pool.instance.gpus = row.small(UINT32_MAX);
  pool.instance.memory_bytes = row.unsigned_integer();
  record.is_deleting = row.integer() != 0;
  return record;
}

InstanceRecord instance_of(Row& row) {
  InstanceRecord instance;
  instance.pool = row.text();
  instance.number = row.small(kInstancesMax);
  instance.id = row.text();
  instance.backends_state =
      static_cast<InstanceBackends>(row.small(static_cast<uint32_t>(InstanceBackends::kKnown)));
  instance.backends = split(row.text());
  instance.key = row.text();
  return instance;
}

LeaseRecord lease_of(Row& row) {
  LeaseRecord lease;
  LeaseDefinition& definition = lease.definition;
  lease.id = row.text();
  definition.pool = row.text();
  definition.quota = row.unsigned_integer();
  definition.duration_ns = row.optional_integer();
  const std::optional<int64_t> duration_ns = row.optional_integer(), window_ns = row.optional_integer();
  if (duration_ns && window_ns) definition.auto_renew = AutoRenew{*duration_ns, *window_ns};
  definition.idempotency_key = row.text();
  lease.duration_ns = row.integer();
  lease.state = static_cast<LeaseState>(row.small(static_cast<uint32_t>(kLastLeaseState)));
  lease.instance = row.small(kInstancesMax);
  lease.has_place = row.integer() != 0;
  lease.created_wall_ns = row.integer();
  lease.expires_wall_ns = row.integer();
  lease.ended_wall_ns = row.integer();
  lease.failure = static_cast<Code>(row.small(static_cast<uint32_t>(Code::kUnauthenticated)));
  lease.reason = row.text();
  definition.owner = row.text();
  return lease;
}

/// Whatever is in a table, each row by `read`.
template <class Read>
auto all_of(SQLite::Database& sqlite, const char* query, Read&& read, bool* wrong) {
  std::vector<decltype(read(std::declval<Row&>()))> records;
  SQLite::Statement statement(sqlite, query);
  while (statement.executeStep()) {
    Row row(statement);
    records.push_back(read(row));
    *wrong |= row.is_wrong();
  }
  return records;
}

/// By lease and position; the leases are in another order.
void read_models(SQLite::Database& sqlite, std::vector<LeaseRecord>& leases) {
  SQLite::Statement models(sqlite, "SELECT name, source FROM lease_models WHERE lease = ? ORDER BY position");
  for (LeaseRecord& lease : leases) {
    models.bind(1, lease.id);
    while (models.executeStep())
      lease.definition.models.push_back({models.getColumn(0).getString(), models.getColumn(1).getString()});
    models.reset();
  }
}

}  // namespace

Result<StoredState> Store::load() {
  StoredState state;
  bool wrong = false;
  try {
    SQLite::Database& sqlite = database_->sqlite();
    state.pools = all_of(sqlite, "SELECT * FROM pools ORDER BY name", pool_of, &wrong);
    state.instances = all_of(sqlite, "SELECT * FROM instances ORDER BY pool, number", instance_of, &wrong);
    state.leases = all_of(sqlite,
                          R"(SELECT id, pool, quota, wanted_duration_ns, auto_renew_duration_ns,
                               auto_renew_window_ns, idempotency_key, duration_ns, state, instance, has_place, created_wall_ns,
                               expires_wall_ns, ended_wall_ns, failure, reason, owner
                             FROM leases ORDER BY sequence)",
                          lease_of, &wrong);
    read_models(sqlite, state.leases);
    // Braces read column after column.
    state.models = all_of(
        sqlite, "SELECT * FROM models ORDER BY name, source",
        [](Row& row) {
          return LeasedModel{row.text(), row.text(), split(row.text())};
        },
        &wrong);
    state.names = all_of(
        sqlite, "SELECT name, lease, owner FROM lease_names ORDER BY owner, name",
        [](Row& row) {
          return LeaseName{row.text(), row.text(), row.text()};
        },
        &wrong);
  } catch (const SQLite::Exception& failure) {
    return failed(database_->file(), failure);
  }
  if (wrong) return make_status(Code::kDataLoss, database_->file(), " has numbers that no server wrote");
  return state;
}

}  // namespace atl::pools
