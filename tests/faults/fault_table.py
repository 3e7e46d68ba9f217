"""Which errors a system call is failed with, out of its manual page: those that can happen to a server. What is left out has its reason."""

import errno

_DISK = ("EIO", "ENOSPC")
_PATH = ("EACCES", "ENOENT", "ENOMEM")
_FILES = ("EMFILE", "ENFILE", "ENOMEM")

TABLE = {
    # files
    "openat": ("EMFILE", "ENFILE", "ENOMEM", "EACCES", "ENOENT", "EINTR"), "read": ("EIO", "EINTR"), "pread64": ("EIO", "EINTR"),
    "readv": ("EIO",), "write": (*_DISK, "EINTR", "EPIPE", "EAGAIN"), "pwrite64": _DISK, "writev": (*_DISK, "EINTR", "EAGAIN", "EPIPE"),
    "lseek": ("EINVAL",), "newfstatat": _PATH, "fstat": ("ENOMEM",), "stat": _PATH, "lstat": _PATH, "statx": _PATH, "access": _PATH,
    "faccessat": _PATH, "faccessat2": _PATH, "getdents64": ("ENOENT", "EIO"), "readlink": _PATH, "readlinkat": _PATH, "getcwd": ("ENOENT",),
    "fcntl": ("EMFILE", "EAGAIN"), "ioctl": ("ENOTTY", "EIO"), "fsync": _DISK, "fdatasync": _DISK, "ftruncate": _DISK, "fallocate": _DISK,
    "rename": ("ENOSPC", "EACCES"), "renameat": ("ENOSPC", "EACCES"), "unlink": ("EACCES", "EIO"), "unlinkat": ("EACCES", "EIO"),
    "rmdir": ("EACCES", "EBUSY"), "mkdir": ("ENOSPC", "EACCES"), "mkdirat": ("ENOSPC", "EACCES"), "chmod": ("EPERM",), "fchmod": ("EPERM",),
    "flock": ("EINTR", "ENOLCK"), "close": ("EIO", "EINTR"), "memfd_create": _FILES, "statfs": ("EIO", "ENOMEM"), "fadvise64": ("EINVAL",),
    "copy_file_range": _DISK, "sendfile": ("EIO", "EAGAIN"), "linkat": ("EMLINK",), "utimensat": ("EACCES",), "symlink": _DISK,
    # watching
    "inotify_init1": ("EMFILE", "ENOMEM"), "inotify_add_watch": ("ENOSPC", "ENOMEM", "EACCES"), "inotify_rm_watch": ("EINVAL",),
    "eventfd2": _FILES, "pipe2": ("EMFILE", "ENFILE"), "signalfd4": _FILES, "timerfd_create": _FILES, "timerfd_settime": ("EINVAL",),
    "epoll_create1": _FILES, "epoll_ctl": ("ENOMEM", "ENOSPC"), "epoll_wait": ("EINTR",), "epoll_pwait": ("EINTR",),
    "poll": ("EINTR", "ENOMEM"), "ppoll": ("EINTR", "ENOMEM"), "select": ("EINTR", "ENOMEM"), "pselect6": ("EINTR", "ENOMEM"),
    "dup": ("EMFILE",), "dup2": ("EMFILE", "EINTR"), "dup3": ("EMFILE", "EINTR"),
    # sockets
    "socket": ("EMFILE", "ENFILE", "ENOBUFS", "EAFNOSUPPORT"), "socketpair": ("EMFILE",), "bind": ("EADDRINUSE", "EACCES"),
    "listen": ("EADDRINUSE",), "accept4": ("EMFILE", "ENFILE", "ENOBUFS", "ENOMEM", "ECONNABORTED", "EPERM"), "accept": ("EMFILE", "ECONNABORTED"),
    "connect": ("ECONNREFUSED", "ETIMEDOUT"), "getpeername": ("ENOTCONN",), "getsockopt": ("ENOTCONN",),
    "setsockopt": ("ENOMEM", "EINVAL"), "sendto": ("ECONNRESET", "EPIPE", "ENOBUFS", "ENOMEM", "EINTR", "EAGAIN"),
    "sendmsg": ("ECONNRESET", "EPIPE", "ENOBUFS", "ENOMEM", "EINTR", "EAGAIN"), "recvfrom": ("ECONNRESET", "ENOMEM", "EINTR", "EAGAIN"),
    "recvmsg": ("ECONNRESET", "ENOMEM", "EINTR", "EAGAIN"), "shutdown": ("ENOTCONN",),
    # memory, threads and processes
    "mmap": ("ENOMEM", "ENFILE"), "mremap": ("ENOMEM",), "madvise": ("ENOMEM", "EAGAIN"), "mlock": ("ENOMEM", "EPERM"),
    "clone": ("EAGAIN", "ENOMEM"), "clone3": ("EAGAIN", "ENOMEM"), "vfork": ("EAGAIN",), "wait4": ("EINTR", "ECHILD"), "waitid": ("EINTR",),
    "kill": ("ESRCH", "EPERM"), "prctl": ("EINVAL",), "sched_setaffinity": ("EPERM",), "sched_getaffinity": ("EINVAL",),
    "sched_setscheduler": ("EPERM",), "setpriority": ("EACCES",), "getpriority": ("ESRCH",), "prlimit64": ("EPERM",), "setrlimit": ("EPERM",),
    "set_mempolicy": ("EPERM", "ENOSYS"), "get_mempolicy": ("EPERM", "ENOSYS"), "getrandom": ("EINTR",), "sysinfo": ("EFAULT",), "uname": ("EFAULT",),
    "sigaltstack": ("ENOMEM",), "sched_getparam": ("ESRCH",), "sched_getscheduler": ("ESRCH",), "membarrier": ("ENOSYS",),
}

# Failed only for files and the log: what wakes a thread (an eventfd) cannot fail, and whoever wakes could do nothing else.
OF_FILES = ("read", "write")

# The loader's own, before there is anything of the server that could say so.
OF_THE_LOADER = {("start", "mmap", 1)}

LEFT_OUT = {
    "brk": "where it fails it returns the old end, and strace can only have it return an error, which glibc takes for an address",
    "munmap": "can fail only for addresses that are not mapped, or with more mappings than the kernel has; glibc then leaks",
    "mprotect": "glibc's loader ends the process where it cannot protect a library; elsewhere as mmap",
    "futex": "glibc ends the process if a lock fails: there is no way to go on without locks",
    "rt_sigaction": "fails only for numbers that are no signals", "rt_sigprocmask": "fails only for wrong arguments",
    "rt_sigreturn": "has no error", "rt_sigtimedwait": "is glibc's", "exit": "has no error", "exit_group": "has no error",
    "arch_prctl": "is glibc's, before main()", "set_tid_address": "has no error", "set_robust_list": "is glibc's, before main()",
    "rseq": "is glibc's: it does without", "execve": "starts the server itself, or a worker whose failure to start has tests of its own",
    "getsockname": "fails only for wrong arguments on Linux", "getpid": "has no error", "gettid": "has no error", "getuid": "has no error", "geteuid": "has no error", "getgid": "has no error",
    "getegid": "has no error", "getppid": "has no error", "umask": "has no error", "sched_yield": "has no error", "getcpu": "has no error",
    "tgkill": "ends the process on purpose", "clock_nanosleep": "a sleep that ends early is looked at again", "nanosleep": "likewise",
    "restart_syscall": "belongs to the call that was interrupted", "clock_gettime": "is answered without the kernel",
    "gettimeofday": "is answered without the kernel", "times": "has no error", "getrusage": "fails only for wrong arguments",
    "getresuid": "has no error", "getresgid": "has no error", "getitimer": "fails only for wrong arguments", "pkey_alloc": "is not used by the server",
    "alarm": "has no error", "setsid": "is called where it cannot fail", "pause": "only returns by a signal",
}

assert all(hasattr(errno, name) for names in TABLE.values() for name in names)
assert not set(TABLE) & set(LEFT_OUT)
