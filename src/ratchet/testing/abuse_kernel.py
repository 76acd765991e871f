"""Abuse that reaches for the kernel, for other processes and for the network."""

from __future__ import annotations

from ratchet.testing.abuse import READS_SYSTEM, WRITES, Case

_OWN_CHILD = """
child = subprocess.Popen(["sleep", "60"])
os.kill(child.pid, signal.SIGTERM)
assert child.wait() == -signal.SIGTERM
"""
_PAIR = """
a, b = socket.socketpair()
a.sendall(b"x")
assert b.recv(1) == b"x"
"""
_LOCAL_SERVER = """
server = socket.socket(); server.bind(("127.0.0.1", 0)); server.listen(1)
client = socket.create_connection(server.getsockname())
client.sendall(b"x")
assert server.accept()[0].recv(1) == b"x"
"""
_LOCAL_SERVER = """
server = socket.socket(); server.bind(("127.0.0.1", 0)); server.listen(1)
client = socket.create_connection(server.getsockname())
client.sendall(b"x")
assert server.accept()[0].recv(1) == b"x"
"""


def _syscalls(names: str) -> str:
    """An attack that makes system calls (name=x86_64/aarch64) with arguments that would succeed or fail otherwise than
    by being forbidden."""
    return f"""
for each in "{names}".split():
    name, _, numbers = each.partition("=")
    number = int(numbers.split("/")[0 if x86 else 1])
    ctypes.set_errno(0)
    result = libc.syscall(number, 0, 0, 0, 0, 0)
    if result >= 0 or ctypes.get_errno() not in (errno.EPERM, errno.ENOSYS, errno.EACCES):
        escaped(name + " " + str(ctypes.get_errno()))
"""


KERNEL = (
    Case(
        name="core_pattern",
        attack="if tries(lambda: open('/proc/sys/kernel/core_pattern', 'r+')): escaped()",
        honest=READS_SYSTEM,
    ),
    Case(
        name="other settings in /proc",
        attack="""
for path in ("sys/kernel/hostname", "sys/vm/drop_caches", "sys/kernel/modprobe", "sysrq-trigger", "sys/fs/file-max",
             "1/oom_score_adj", "irq/default_smp_affinity"):
    if tries(lambda: open("/proc/" + path, "r+")) and path != "1/oom_score_adj": escaped(path)
""",
        honest="assert open('/proc/meminfo').read()",
    ),
    Case(
        name="mounting",
        attack="""
for source, kind, flags in ((b"none", b"tmpfs", 0), (at["outside"].encode(), b"", 4096), (b"none", b"proc", 0)):
    os.makedirs("m", exist_ok=True)
    if libc.mount(source, b"m", kind, flags, None) == 0: escaped(kind.decode())
if libc.umount2(b"/proc", 2) == 0: escaped("umount")
""",
        honest="os.mkdir('m'); assert os.stat('m')",
    ),
    Case(
        name="new namespaces",
        attack="""
for flag in (0x10000000, 0x20000, 0x40000000, 0x20000000, 0x4000000, 0x8000000, 0x2000000, 0x80):
    if libc.unshare(flag) == 0: escaped(hex(flag))
    if libc.unshare(flag | 0x10000000) == 0: escaped(hex(flag) + " with a user namespace")
if subprocess.run(["unshare", "-Ur", "true"], stderr=subprocess.DEVNULL).returncode == 0: escaped("unshare -Ur")
""",
        honest="thread = threading.Thread(target=lambda: None); thread.start(); thread.join(); libc.unshare(0x200)",
    ),
    Case(
        name="a process clone into new namespaces",
        attack="""
for flag in (0x10000000, 0x20000, 0x40000000):
    pid = libc.syscall(56 if x86 else 220, flag | 17, 0, 0, 0, 0)
    if pid == 0: os._exit(0)
    if pid > 0: escaped(hex(flag))
""",
        honest="pid = os.fork() or os._exit(0); os.waitpid(pid, 0)",
    ),
    Case(
        name="joining other namespaces",
        attack="""
for name in ("net", "mnt", "pid", "user"):
    for pid in ("1", str(at["host"]), str(at["victim"])):
        opened = tries(lambda: os.open(f"/proc/{pid}/ns/{name}", 0))
        if opened is not None and libc.setns(opened, 0) == 0: escaped(name)
if libc.chroot(b".") == 0: escaped("chroot")
""",
        honest=WRITES,
    ),
    Case(
        name="device nodes",
        attack="""
for number, kind in ((os.makedev(1, 1), stat.S_IFCHR), (os.makedev(254, 0), stat.S_IFBLK),
                     (os.makedev(8, 0), stat.S_IFBLK)):
    if tries(lambda: os.mknod("node", 0o666 | kind, number) or 1): escaped(str(number))
for path in ("/dev/mem", "/dev/kmem", "/dev/port", "/dev/kmsg", "/dev/vda", "/dev/sda", "/dev/kvm",
             "/dev/fuse", "/dev/net/tun"):
    if tries(lambda: open(path, "rb", buffering=0)): escaped(path)
""",
        honest="assert open('/dev/urandom', 'rb').read(4); open('/dev/null', 'w').write('x'); os.mkfifo('pipe')",
    ),
    Case(
        name="the kernel's keyring",
        attack=_syscalls("add_key=248/217 request_key=249/218 keyctl=250/219"),
        honest=WRITES,
    ),
    Case(
        name="modules, kexec, reboot, swap",
        attack=_syscalls(
            "init_module=175/105 finit_module=313/273 delete_module=176/106 kexec_load=246/104 reboot=169/142 "
            "swapon=167/224 swapoff=168/225 acct=163/89 quotactl=179/60"
        ),
        honest=READS_SYSTEM,
    ),
    Case(
        name="large kernel surfaces",
        attack=_syscalls(
            "bpf=321/280 perf_event_open=298/241 userfaultfd=323/282 io_uring_setup=425/425 fanotify_init=300/262 "
            "open_by_handle_at=304/265 move_mount=429/429 fsopen=430/430 open_tree=428/428 mount_setattr=442/442 "
            "pidfd_getfd=438/438 process_vm_readv=310/270 kcmp=312/272"
        ),
        honest="import mmap; m = mmap.mmap(-1, 4096); m.write(b'x'); m.close()",
    ),
    Case(
        name="clock and host name",
        attack="""
before = time.time()
if tries(lambda: time.clock_settime(time.CLOCK_REALTIME, 1000000000) or 1): escaped("clock")
if tries(lambda: socket.sethostname("planted") or 1): escaped("name")
for call in (libc.settimeofday, libc.stime if hasattr(libc, "stime") else libc.settimeofday):
    if call(None, None) == 0 and abs(time.time() - before) > 60: escaped("settimeofday")
""",
        honest="assert time.time() > 1e9; assert time.clock_gettime(time.CLOCK_MONOTONIC) > 0",
    ),
    Case(
        name="the kernel's log",
        attack=_syscalls("syslog=103/116"),
        honest=WRITES,
    ),
    Case(
        name="32-bit and x32 system calls",
        attack="if x86 and libc.syscall(0x40000000 + 39) > 0: escaped('x32 getpid')",
        honest="assert libc.getpid() == os.getpid()",
    ),
)

PROCESSES = (
    Case(
        name="signals to processes outside",
        attack="""
for pid in (at["victim"], at["host"]):
    if tries(lambda: os.kill(pid, 0) or 1) and pid > 300: escaped(str(pid))
for pid in (at["victim"], at["victim"] - 1):
    tries(lambda: os.kill(pid, signal.SIGKILL))
""",
        honest=_OWN_CHILD,
    ),
    Case(
        name="a signal to everything",
        attack="signal.signal(signal.SIGTERM, signal.SIG_IGN); tries(lambda: os.kill(-1, signal.SIGTERM))",
        honest=_OWN_CHILD,
    ),
    Case(
        name="debugging processes outside",
        attack="""
for pid in (at["victim"], at["host"], os.getppid()):
    if libc.ptrace(16, pid, 0, 0) == 0: escaped(str(pid))
    if tries(lambda: open(f"/proc/{pid}/mem", "r+b")) and pid in (at["victim"], at["host"]): escaped("mem")
""",
        honest="import faulthandler; faulthandler.enable()",
    ),
    Case(
        name="killing what watches",
        attack="""
for pid in range(1, 40):
    if pid != os.getpid(): tries(lambda: os.kill(pid, signal.SIGKILL))
tries(lambda: os.kill(os.getppid(), signal.SIGKILL))
print("still here")
""",
        honest=_OWN_CHILD,
        needs=frozenset({"namespaces"}),
    ),
    Case(
        name="shared memory of the host",
        attack="""
libc.shmat.restype = ctypes.c_void_p
where = libc.shmat(at["shm"], None, 0)
if at["shm"] >= 0 and where not in (None, ctypes.c_void_p(-1).value): escaped()
""",
        honest="from multiprocessing import Pipe; a, b = Pipe(); a.send(1); assert b.recv() == 1",
    ),
    Case(
        name="characters into the terminal",
        attack="""
import fcntl
for path in ("/dev/tty", "/dev/console", "/dev/pts/0"):
    opened = tries(lambda: os.open(path, os.O_RDWR))
    if opened is not None and tries(lambda: fcntl.ioctl(opened, 0x5412, b"x") or 1): escaped(path)
""",
        honest="assert not os.isatty(0)",
    ),
)

NETWORK = (
    Case(
        name="a port of the host",
        attack="""
for address in (("127.0.0.1", at["port"]), ("localhost", at["port"]), ("0.0.0.0", at["port"])):
    if tries(lambda: socket.create_connection(address, 2)): escaped(str(address))
""",
        honest=_PAIR,
    ),
    Case(
        name="an address outside",
        attack="""
for address in (("1.1.1.1", 53), ("169.254.169.254", 80), ("8.8.8.8", 443)):
    if tries(lambda: socket.create_connection(address, 2)): escaped(str(address))
def sends():
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); made.sendto(b"x", ("1.1.1.1", 53)); return 1
if tries(sends): escaped("udp")
""",
        honest=_PAIR,
    ),
    Case(
        name="a server of its own",
        attack="if tries(lambda: socket.create_connection(('127.0.0.1', at['port']), 2)): escaped()",
        honest=_LOCAL_SERVER,
        needs=frozenset({"namespaces"}),
    ),
    Case(
        name="abstract sockets of the host",
        attack="""
def connects():
    made = socket.socket(socket.AF_UNIX); made.connect("\\0" + at["abstract"]); return 1
if tries(connects): escaped()
""",
        honest=_PAIR,
    ),
    Case(
        name="named sockets of the host",
        attack="""
for path in (at["outside"] + "/socket", "/var/run/docker.sock", "/run/dbus/system_bus_socket", "/run/systemd/private"):
    def connects():
        made = socket.socket(socket.AF_UNIX); made.connect(path); return 1
    if tries(connects): escaped(path)
""",
        honest=_PAIR,
    ),
    Case(
        name="a socket of the host in the folder",
        attack="""
os.path.lexists("socket") or escaped("the scene has no socket")
for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
    def connects():
        made = socket.socket(socket.AF_UNIX, kind); made.connect("socket"); return 1
    if tries(connects): escaped(str(kind))
""",
        honest="""
for again in range(2):
    server = socket.socket(socket.AF_UNIX); server.bind("own"); server.listen(1)
    client = socket.socket(socket.AF_UNIX); client.connect("own"); server.accept(); os.unlink("own")
""",
        needs=frozenset({"namespaces"}),
    ),
    Case(
        name="sockets to the virtual machine's host",
        attack="if tries(lambda: socket.socket(40, socket.SOCK_STREAM)): escaped()",
        honest=_PAIR,
    ),
    Case(
        name="odd socket families",
        attack="""
for family in (3, 4, 5, 9, 17, 21, 23, 26, 29, 30, 31, 32, 33, 37, 38, 39, 41, 42, 44):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET):
        if tries(lambda: socket.socket(family, kind)): escaped(str(family))
if tries(lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)): escaped("raw")
""",
        honest=_PAIR,
    ),
)
