#include "pools/leases/store/store.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "atoll/testing/temporary_directory.h"
#include "pools/leases/testing/failing_disk.h"

namespace atl::pools {
namespace {

namespace fs = std::filesystem;

PoolRecord pool(std::string name, uint32_t max_instances = 4) {
  PoolRecord pool;
  pool.definition.name = std::move(name);
  pool.definition.max_instances = max_instances;
  pool.definition.quota = 8;
  return pool;
}

LeaseRecord lease(std::string id, LeaseState state = LeaseState::kActive) {
  LeaseRecord lease;
  lease.id = std::move(id);
  lease.definition.pool = "fraud";
  lease.definition.quota = 2;
  lease.definition.models = {{"b", "/models/b"}, {"a", "/models/a"}};
  lease.state = state;
  return lease;
}

/// Everything that is stored, as text.
std::string text_of(const StoredState& state) {
  std::string text;
  for (const PoolRecord& record : state.pools) {
    const PoolDefinition& p = record.definition;
    text += cat("pool ", p.name, " ", p.min_instances, "-", p.max_instances, " of ", p.quota,
                p.enforce_backends ? " enforced" : "", " runs '", p.instance.runtime, "' ", p.instance.cpus,
                " ", p.instance.gpus, " ", p.instance.memory_bytes,
                record.is_deleting ? " is being deleted" : "", "\n");
  }
  for (const InstanceRecord& i : state.instances) {
    text += cat("instance ", i.pool, " ", i.number, " ", i.id, " ", i.key, " ",
                static_cast<int>(i.backends_state));
    for (const std::string& backend : i.backends) text += cat(" ", backend);
    text += "\n";
  }
  for (const LeaseRecord& l : state.leases) {
    text += cat("lease ", l.id, " ", l.definition.pool, " ", l.definition.quota, " ", name_of(l.state),
                " on ", l.instance, " for ", l.duration_ns, " from ", l.created_wall_ns, " to ",
                l.expires_wall_ns, " ended ", l.ended_wall_ns, " ", code_name(l.failure), " '", l.reason,
                "' key '", l.definition.idempotency_key, "'");
    if (l.definition.duration_ns) text += cat(" wanted ", *l.definition.duration_ns);
    if (const auto& renew = l.definition.auto_renew; renew)
      text += cat(" renewed by ", renew->duration_ns, " if used in ", renew->window_ns);
    for (const LeaseModel& model : l.definition.models) text += cat(" ", model.name, "=", model.source);
    text += "\n";
  }
  for (const LeasedModel& m : state.models) {
    text += cat("model ", m.name, "=", m.source);
    for (const std::string& backend : m.backends) text += cat(" ", backend);
    text += "\n";
  }
  for (const LeaseName& n : state.names) text += cat("name ", n.name, " is ", n.lease, "\n");
  return text;
}

class StoreTest : public testing::Test {
 protected:
  std::string directory() const { return (fs::path(temporary_.path()) / "state").string(); }
  std::string file() const { return directory() + "/pools.sqlite"; }

  std::unique_ptr<Store> open() {
    Result<std::unique_ptr<Store>> store = Store::open(directory());
    EXPECT_TRUE(store.ok()) << store.status().text();
    return store.ok() ? std::move(store).value() : nullptr;
  }
  std::string stored() { return loaded(*open()); }
  static std::string loaded(Store& store) {
    Result<StoredState> state = store.load();
    return state.ok() ? text_of(*state) : state.status().text();
  }
  Status refusal() {
    Result<std::unique_ptr<Store>> store = Store::open(directory());
    return std::move(store).status();
  }
  static void write(Store& store, const std::vector<Change>& changes) {
    const Status status = store.write(changes);
    ASSERT_TRUE(status.ok()) << status.text();
  }
  std::string bytes() const {
    std::ifstream in(file(), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void replace_bytes(const std::string& bytes) const {
    std::ofstream(file(), std::ios::binary | std::ios::trunc) << bytes;
  }
  /// By another program.
  void run(const std::string& statement) const {
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(file().c_str(), &database), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(database, statement.c_str(), nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(database);
  }

  test::TemporaryDirectory temporary_;
};

TEST_F(StoreTest, ANewOneIsEmpty) { EXPECT_EQ(stored(), ""); }

TEST_F(StoreTest, EveryFieldComesBack) {
  PoolRecord record = pool("large", 10'000);
  record.is_deleting = true;
  PoolDefinition& large = record.definition;
  large.min_instances = 3;
  large.quota = UINT64_MAX;
  large.enforce_backends = false;
  large.instance = {"worker", 2, 1, UINT64_MAX - 1};
  LeaseRecord full = lease("2", LeaseState::kFailed);
  full.definition.duration_ns = 60;
  full.definition.quota = UINT64_MAX;
  full.definition.auto_renew = AutoRenew{5, 6};
  full.definition.idempotency_key = "key";
  full.duration_ns = 61;
  full.instance = 7;
  full.created_wall_ns = 100;
  full.expires_wall_ns = 161;
  full.ended_wall_ns = 150;
  full.failure = Code::kNotFound;
  full.reason = "model 'a': it's \"broken\"\n";
  write(*open(),
        {pool("fraud"), record, InstanceRecord{"fraud", 1, "id-1", "key-1", InstanceBackends::kUnknown, {}},
         InstanceRecord{"fraud", 0, "id-0", "key-0", InstanceBackends::kKnown, {"onnxruntime", "python"}},
         lease("9"), full, LeasedModel{"a", "/models/a", {"python"}}, LeasedModel{"e", "/models/e", {}},
         LeaseName{"live", "9", ""}});
  EXPECT_EQ(
      stored(),
      "pool fraud 0-4 of 8 enforced runs '' 0 0 0\n"
      "pool large 3-10000 of 18446744073709551615 runs 'worker' 2 1 18446744073709551614 is being deleted\n"
      "instance fraud 0 id-0 key-0 2 onnxruntime python\n"
      "instance fraud 1 id-1 key-1 1\n"
      "lease 9 fraud 2 ACTIVE on 0 for 0 from 0 to 0 ended 0 OK '' key '' b=/models/b a=/models/a\n"
      "lease 2 fraud 18446744073709551615 FAILED on 7 for 61 from 100 to 161 ended 150 NOT_FOUND 'model 'a': it's "
      "\"broken\"\n' key 'key' wanted 60 renewed by 5 if used in 6 b=/models/b a=/models/a\n"
      "model a=/models/a python\n"
      "model e=/models/e\n"
      "name live is 9\n");
}

TEST_F(StoreTest, RecordsChangeAndGo) {
  const auto store = open();
  write(*store, {pool("fraud"), pool("other"), InstanceRecord{"fraud", 0, "id-0", "key-0", {}, {}},
                 lease("1"), lease("2"), LeaseName{"live", "1", ""}});
  LeaseRecord changed = lease("1", LeaseState::kReleased);
  changed.expires_wall_ns = 5;
  write(*store, {pool("fraud", 9), changed,
                 InstanceRecord{"fraud", 0, "id-1", "key-1", InstanceBackends::kKnown, {"a"}},
                 LeaseName{"live", "2", ""}, DropPool{"other"}, DropPool{"never was"}});
  EXPECT_EQ(loaded(*store),
            "pool fraud 0-9 of 8 enforced runs '' 0 0 0\n"
            "instance fraud 0 id-1 key-1 2 a\n"
            "lease 1 fraud 2 RELEASED on 0 for 0 from 0 to 5 ended 0 OK '' key '' b=/models/b a=/models/a\n"
            "lease 2 fraud 2 ACTIVE on 0 for 0 from 0 to 0 ended 0 OK '' key '' b=/models/b a=/models/a\n"
            "name live is 2\n");
  write(*store, {DropPool{"fraud"}, DropInstance{"fraud", 0}, DropLease{"1"}, DropLease{"2"},
                 DropLeaseName{"", "live"}});
  EXPECT_EQ(loaded(*store), "");
}

TEST_F(StoreTest, WithoutADirectoryItForgets) {
  for (int i = 0; i < 2; ++i) {
    Result<std::unique_ptr<Store>> store = Store::open("");
    ASSERT_TRUE(store.ok()) << store.status().text();
    EXPECT_EQ(loaded(**store), "");
    write(**store, {pool("fraud")});
  }
}

// --- files that cannot be used: said by name, and left as they are ---

TEST_F(StoreTest, OneProcessHasIt) {
  const auto store = open();
  const Status status = refusal();
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_EQ(status.message(),
            cat(file(), ": another process has it open, expected one server a state directory"));
  write(*store, {pool("fraud")});
}

TEST_F(StoreTest, AFileOfANewerServerIsRefused) {
  write(*open(), {pool("fraud")});
  run("PRAGMA user_version = 4");
  const std::string before = bytes();
  const Status status = refusal();
  EXPECT_EQ(status.code(), Code::kFailedPrecondition);
  EXPECT_EQ(status.message(),
            cat(file(), " has schema 4, this server knows 3: it is of another version of the server"));
  EXPECT_EQ(bytes(), before);
}

/// Back to the tables of the version that knew no owners, without names.
constexpr const char* kToSchema2 = R"(
  ALTER TABLE leases DROP COLUMN owner;
  DROP TABLE lease_names;
  CREATE TABLE lease_names (name TEXT PRIMARY KEY, lease TEXT NOT NULL) STRICT, WITHOUT ROWID;
  PRAGMA user_version = 2;
)";

TEST_F(StoreTest, AFileOfTheVersionBeforeIsTakenOver) {
  write(*open(),
        {pool("fraud"), InstanceRecord{"fraud", 3, "server", "key", InstanceBackends::kKnown, {"python"}}});
  run(cat(kToSchema2, "ALTER TABLE instances DROP COLUMN key; PRAGMA user_version = 1"));
  write(*open(), {lease("1")});
  const auto store = open();
  const StoredState state = std::move(store->load()).value();
  ASSERT_EQ(state.instances.size(), 1u);
  EXPECT_EQ(state.instances[0].id, "server");
  EXPECT_EQ(state.instances[0].key, "");
  EXPECT_EQ(state.instances[0].backends, std::vector<std::string>{"python"});
  EXPECT_EQ(state.leases.size(), 1u);
  write(*store, {InstanceRecord{"fraud", 3, "next", "another", InstanceBackends::kBlank, {}}});
  EXPECT_EQ(std::move(store->load()).value().instances[0].key, "another");
}

TEST_F(StoreTest, LeasesAndNamesOfAVersionWithoutOwnersBelongToNobody) {
  write(*open(), {pool("fraud"), lease("1"), LeaseName{"live", "1", ""}});
  run(cat(kToSchema2, "INSERT INTO lease_names VALUES ('live', '1')"));
  const auto store = open();
  LeaseRecord owned = lease("2");
  owned.definition.owner = "tenant";
  write(*store, {owned, LeaseName{"live", "2", "tenant"}, LeaseName{"new", "2", "tenant"}});
  write(*store, {DropLeaseName{"tenant", "new"}, DropLeaseName{"another", "live"}});
  const StoredState state = std::move(store->load()).value();
  ASSERT_EQ(state.leases.size(), 2u);
  EXPECT_EQ(state.leases[0].definition.owner, "");
  EXPECT_EQ(state.leases[1].definition.owner, "tenant");
  ASSERT_EQ(state.names.size(), 2u);
  EXPECT_EQ(cat(state.names[0].owner, " ", state.names[0].name, " ", state.names[0].lease), " live 1");
  EXPECT_EQ(cat(state.names[1].owner, " ", state.names[1].name, " ", state.names[1].lease), "tenant live 2");
}

TEST_F(StoreTest, OthersCanNotReadIt) {
  const auto is_private = [&] {
    for (const fs::directory_entry& entry : fs::directory_iterator(directory())) {
      const fs::perms others = entry.status().permissions() & (fs::perms::group_all | fs::perms::others_all);
      EXPECT_EQ(others, fs::perms::none) << entry.path();
    }
  };
  {
    const auto store = open();
    write(*store, {pool("fraud")});
    is_private();
  }
  fs::permissions(file(), fs::perms::others_read | fs::perms::group_read, fs::perm_options::add);
  const auto store = open();
  write(*store, {pool("fraud")});
  is_private();
}

TEST_F(StoreTest, AnotherProgramsFileIsRefused) {
  fs::create_directories(directory());
  run("CREATE TABLE songs (name TEXT)");
  const std::string before = bytes();
  EXPECT_EQ(refusal().code(), Code::kFailedPrecondition);
  EXPECT_EQ(bytes(), before);
}

TEST_F(StoreTest, DamagedFilesAreRefusedAndLeftAlone) {
  write(*open(), {pool("fraud"), lease("1")});
  const std::string whole = bytes();
  ASSERT_GT(whole.size(), 8192u);
  std::string broken = whole;
  for (size_t i = 4096; i < broken.size(); i += 7) broken[i] = static_cast<char>(i);
  for (const std::string& damaged :
       {std::string(), whole.substr(0, 50), whole.substr(0, 4096), whole.substr(0, whole.size() / 2),
        std::string(whole.size(), 'x'), broken}) {
    replace_bytes(damaged);
    const Status status = refusal();
    EXPECT_TRUE(status.code() == Code::kDataLoss || status.code() == Code::kFailedPrecondition)
        << damaged.size();
    EXPECT_TRUE(status.message().starts_with(file())) << status.message();
    EXPECT_EQ(bytes(), damaged);
  }
  replace_bytes(whole);
  EXPECT_NE(stored(), "");
}

TEST_F(StoreTest, NumbersThatNobodyWroteAreFound) {
  write(*open(), {lease("1")});
  run("UPDATE leases SET state = 77");
  EXPECT_EQ(stored(), cat(file(), " has numbers that no server wrote"));
}

TEST_F(StoreTest, TheDirectoryIsMadeOrNamed) {
  replace_bytes("");  // nothing is written: there is no directory
  EXPECT_EQ(stored(), "");
  fs::remove_all(directory());
  std::ofstream(directory()) << "a file";
  const Status status = refusal();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_TRUE(status.message().starts_with(cat("'", directory(), "' cannot be made a directory")))
      << status.message();
}

// --- the disk fails at each write ---

/// All of a change or nothing, whichever write of it fails; and afterwards it goes on.
TEST_F(StoreTest, AFailureAtAnyWriteLeavesAllOrNothing) {
  const std::vector<Change> first = {pool("fraud"), lease("1")};
  const std::vector<Change> second = {pool("fraud", 7), lease("1", LeaseState::kReleased), lease("2"),
                                      LeasedModel{"a", "/models/a", {"python"}}};
  for (const int code : {SQLITE_FULL, SQLITE_IOERR}) {
    bool failed = true;
    int failures = 0;
    for (uint64_t successes = 0; failed; ++successes) {
      SCOPED_TRACE(cat("code ", code, " after ", successes, " writes"));
      fs::remove_all(directory());
      FailingDisk disk;
      std::string before, after;
      {
        const auto store = open();
        write(*store, first);
        before = loaded(*store);
        disk.fail_after(successes, code);
        const Status status = store->write(second);
        failed = !status.ok();
        if (failed) {
          ++failures;
          EXPECT_EQ(status.code(), Code::kUnavailable) << status.text();
          EXPECT_TRUE(status.message().starts_with("the change cannot be recorded: ")) << status.message();
          EXPECT_EQ(status.message().find(directory()), std::string::npos) << status.message();
          EXPECT_EQ(loaded(*store), before);
        }
        disk.repair();
        write(*store, second);
        after = loaded(*store);
        EXPECT_NE(after, before);
      }
      EXPECT_EQ(stored(), after);
    }
    EXPECT_GT(failures, 2) << "nothing was tested";
  }
}

TEST_F(StoreTest, AFailureWhileItIsMadeLeavesNothingHalfDone) {
  bool failed = true;
  for (uint64_t successes = 0; failed; ++successes) {
    SCOPED_TRACE(cat("after ", successes, " writes"));
    fs::remove_all(directory());
    FailingDisk disk;
    disk.fail_after(successes);
    failed = !refusal().ok();
    disk.repair();
    EXPECT_EQ(stored(), "");
  }
}

}  // namespace
}  // namespace atl::pools
