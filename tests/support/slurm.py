"""A Slurm cluster of three nodes on this machine, on the loopback as far as it is asked for."""

import contextlib
import os
import pathlib
import socket
import subprocess
import tempfile

from .waiting import eventually

NODES = ("n0", "n1", "n2")
CONFIGURATION = """
ClusterName=atoll
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerParameters=batch_sched_delay=0,sched_min_interval=100000
EnforcePartLimits=ALL
ReturnToService=2
KillWait=5
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""

# Nothing here needs groups of processes. Without this, slurmd looks which of the two kinds is mounted, and where none is it ends; of this
# kind it looks for nothing before something is asked of it.
CGROUPS = "CgroupPlugin=cgroup/v1\n"


def free_ports(count):
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


class Cluster:
    """Context manager; two CPUs and 2,000 MiB a node, which are booked and not there."""

    def __enter__(self):
        self._stack = contextlib.ExitStack()
        self._programs = []
        try:
            self._begin()
        except BaseException:
            self._stack.close()
            raise
        return self

    def _begin(self):
        # Not in pytest's folders: munged wants that nobody else may write on the way to its socket.
        self.folder = pathlib.Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="slurm-", dir="/tmp")))
        host, user = socket.gethostname().split(".")[0], subprocess.check_output(["id", "-un"], text=True).strip()
        ports = free_ports(1 + len(NODES))
        nodes = "".join(f"NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=2 RealMemory=2000\n"
                        for node, port in zip(NODES, ports[1:]))
        text = CONFIGURATION.format(host=host, port=ports[0], user=user, folder=self.folder)
        (self.folder / "slurm.conf").write_text(text.replace("PartitionName", nodes + "PartitionName"))
        (self.folder / "cgroup.conf").write_text(CGROUPS)
        (self.folder / "state").mkdir()
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o600)
        self.environment = {"SLURM_CONF": str(self.folder / "slurm.conf")}
        self._controller = None
        self._start("munged", "--foreground", "--force", f"--key-file={key}", f"--socket={self.folder}/munge.socket",
                    f"--pid-file={self.folder}/munged.pid", f"--log-file={self.folder}/munged.log",
                    f"--seed-file={self.folder}/munged.seed")
        self._await((self.folder / "munge.socket").exists)
        self.start_controller()
        for node in NODES:
            (self.folder / f"spool-{node}").mkdir()
            self._start("slurmd", "-D", "-N", node)
        self._await(lambda: self.states() == {node: "idle" for node in NODES})

    def __exit__(self, *_):
        self._stack.close()

    def _start(self, *command):
        log = self._stack.enter_context(open(self.folder / f"{command[0]}.out", "ab"))
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                   env={**os.environ, **self.environment})
        self._stack.callback(process.wait)
        self._stack.callback(process.kill)
        self._programs.append((command, process))
        return process

    def _await(self, condition):
        """Until it holds. What a program said that has ended, or that takes too long, is the failure's text."""
        def holds():
            ended = [f"{' '.join(command)}: exit code {process.returncode}" for command, process in self._programs
                     if process.poll() is not None]
            assert not ended, f"ended: {'; '.join(ended)}\n{self._said()}"
            return condition()
        eventually(holds, say=self._said)

    def _said(self):
        return "\n".join(f"--- {file.name}\n{file.read_text(errors='replace')[-4000:]}" for file in sorted(self.folder.glob("*.out")))

    def start_controller(self):
        self._controller = self._start("slurmctld", "-D")

    def stop_controller(self):
        self._controller.terminate()
        self._controller.wait()

    def run(self, *command):
        return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **self.environment}).stdout

    def states(self):
        return dict(line.split() for line in self.run("sinfo", "-h", "-N", "-o", "%N %t").splitlines())

    def jobs(self):
        """Nodes of the jobs that run, in their order."""
        return self.run("squeue", "-h", "-t", "RUNNING", "-S", "i", "-o", "%N").split()

    def set_node(self, node, state):
        self.run("scontrol", "update", f"NodeName={node}", f"State={state}", "Reason=test")
