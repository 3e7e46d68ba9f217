#include "backends/python/process/worker_process.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

#include "atoll/core/thread_cpus.h"
#include "atoll/testing/temporary_directory.h"

namespace atl::python {
namespace {

struct Ends {
  FileDescriptor ours, theirs;
};

Ends socket_pair() {
  int ends[2] = {-1, -1};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

ProcessSpec shell(const Ends& ends, const std::string& script) {
  ProcessSpec spec;
  spec.words = {"/bin/sh", "-c", script};
  spec.environment = {"PATH=/usr/bin:/bin"};
  spec.control = ends.theirs.get();
  return spec;
}

std::string read_all(const FileDescriptor& from) {
  std::string all;
  char part[256];
  while (true) {
    pollfd wait = {from.get(), POLLIN, 0};
    ::poll(&wait, 1, -1);
    const ssize_t size = ::read(from.get(), part, sizeof part);
    if (size <= 0) return all;
    all.append(part, static_cast<size_t>(size));
  }
}

ProcessEnd wait_end(WorkerProcess& process) {
  pollfd wait = {process.handle(), POLLIN, 0};
  EXPECT_EQ(::poll(&wait, 1, 60'000), 1);
  return process.reap().value_or(ProcessEnd{-1, -1});
}

WorkerProcess started(const ProcessSpec& spec) {
  Result<WorkerProcess> process = WorkerProcess::start(spec);
  EXPECT_TRUE(process.ok()) << process.status().text();
  return process.ok() ? std::move(process).value() : WorkerProcess();
}

TEST(WorkerProcess, HasItsDescriptorsAndNoOthers) {
  const Ends ends = socket_pair();
  const FileDescriptor leaking(::dup(ends.ours.get()));  // not close-on-exec
  // Without a pipe, whose ends the shell would have open for a moment.
  WorkerProcess process = started(shell(ends, "echo out; echo err >&2; ls /proc/$$/fd"));
  EXPECT_EQ(read_all(process.take_errors()), "err\n");
  EXPECT_EQ(read_all(process.take_output()), "out\n0\n1\n2\n3\n");
  EXPECT_EQ(wait_end(process).text(), "exited with status 0");
  EXPECT_FALSE(process.is_running());
}

TEST(WorkerProcess, SaysHowItEnded) {
  const Ends ends = socket_pair();
  WorkerProcess process = started(shell(ends, "exit 3"));
  EXPECT_EQ(wait_end(process).text(), "exited with status 3");
  process = started(shell(ends, "kill -SEGV $$"));
  EXPECT_EQ(wait_end(process).text(), "was killed by signal 11 (Segmentation fault)");
  EXPECT_FALSE(process.reap());
}

TEST(WorkerProcess, RunsUntilItIsToldAndTakesItsGroupWithIt) {
  const Ends ends = socket_pair();
  WorkerProcess process = started(shell(ends, "sleep 1000 & echo $!; read -r x <&3"));
  const FileDescriptor output = process.take_output();
  EXPECT_FALSE(process.reap());
  ASSERT_EQ(::write(ends.ours.get(), "x\n", 2), 2);
  (void)wait_end(process);
  // Its pipe ends with the last one who has it.
  const std::string grandchild = read_all(output);
  EXPECT_FALSE(grandchild.empty());
}

TEST(WorkerProcess, IsKilledWithItsObject) {
  const Ends ends = socket_pair();
  pid_t pid = 0;
  {
    const WorkerProcess process = started(shell(ends, "trap '' TERM INT; sleep 1000"));
    pid = process.pid();
  }
  EXPECT_EQ(::kill(pid, 0), -1);
}

TEST(WorkerProcess, LimitsAreThereBeforeTheFirstMessage) {
  const Ends ends = socket_pair();
  ProcessSpec spec = shell(ends, "read -r go <&3; ulimit -v; ulimit -n; ulimit -c");
  spec.limits = {.memory_bytes = 512 << 20, .open_files = 40, .processes = 0, .cpu_cores = {0}, .groups = {}};
  WorkerProcess process = started(spec);
  ASSERT_EQ(::write(ends.ours.get(), "go\n", 3), 3);
  EXPECT_EQ(read_all(process.take_output()), "524288\n40\n0\n");
  (void)wait_end(process);
}

TEST(WorkerProcess, LeavesTheFirstCpuToOthersUnlessItHasCores) {
  cpu_set_t every;
  ASSERT_EQ(::sched_getaffinity(0, sizeof every, &every), 0);
  const Ends ends = socket_pair();
  ProcessSpec spec = shell(ends, "read -r go <&3");
  const auto cpus_are = [](const ProcessSpec& wanted, const cpu_set_t& expected) {
    const WorkerProcess process = started(wanted);
    cpu_set_t found;
    return ::sched_getaffinity(process.pid(), sizeof found, &found) == 0 && CPU_EQUAL(&found, &expected);
  };
  EXPECT_TRUE(cpus_are(spec, without_first(every)));
  for (uint32_t core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &every)) spec.limits.cpu_cores.push_back(core);
  }
  EXPECT_TRUE(cpus_are(spec, every));
}

TEST(WorkerProcess, WhatCanNotBeStartedSaysSo) {
  const Ends ends = socket_pair();
  ProcessSpec spec = shell(ends, "");
  spec.words[0] = "/nowhere/python3";
  EXPECT_EQ(WorkerProcess::start(spec).status().text(),
            "/nowhere/python3 cannot be started: No such file or directory");
  spec = shell(ends, "sleep 1000");
  spec.limits.cpu_cores = {1000};
  EXPECT_EQ(WorkerProcess::start(spec).status().text(),
            "it cannot be bound to its CPU cores: Invalid argument");
}

TEST(FindProgram, LooksThroughThePath) {
  const test::TemporaryDirectory folder;
  const std::string path = folder.path();
  const std::string file = path + "/tool";
  std::ofstream(file) << "#!/bin/sh\n";
  EXPECT_EQ(find_program("tool", path).status().text(),
            cat("there is no program 'tool' in the folders of PATH, which is '", path, "'"));
  ASSERT_EQ(::chmod(file.c_str(), 0755), 0);
  EXPECT_EQ(find_program("tool", cat("/nowhere:", path, ":")).value(), file);
  EXPECT_EQ(find_program(file, "").value(), file);
  EXPECT_EQ(find_program(path + "/x", "").status().code(), Code::kNotFound);
  EXPECT_EQ(find_program("", "/bin").status().code(), Code::kNotFound);
}

}  // namespace
}  // namespace atl::python
