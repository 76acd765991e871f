"""Abuse that reaches for what is outside: secrets, files, processes, the kernel, the network."""

from __future__ import annotations

import stat
from pathlib import Path

from ratchet.confinement import Ran
from ratchet.testing.abuse import Case
from ratchet.testing.scene import Scene

_WRITES = "open('made.txt', 'w').write('x'); assert open('made.txt').read() == 'x'"
_READS_SYSTEM = "assert os.listdir('/usr/bin'); assert subprocess.run(['sh', '-c', 'exit 7']).returncode == 7"
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


def _no_set_ids(place: Scene, ran: Ran) -> list[str]:
    del ran
    found = [
        each for each in place.work.rglob("*") if each.is_file() and each.lstat().st_mode & (stat.S_ISUID | 0o2000)
    ]
    return [f"{each.name} has set-id bits" for each in found]


def _with_git(work: Path) -> None:
    (work / ".git").mkdir()
    (work / ".git" / "config").write_text("[core]\n\tbare = false\n", encoding="utf-8")
    (work / "code.py").write_text("x = 1\n", encoding="utf-8")


def _git_untouched(place: Scene, ran: Ran) -> list[str]:
    del ran
    kept = (place.work / ".git" / "config").read_text(encoding="utf-8") == "[core]\n\tbare = false\n"
    return [] if kept and len(list((place.work / ".git").iterdir())) == 1 else ["the repository was changed"]


SECRETS = (
    Case(
        name="the first process's environment",
        attack="if at['secret'].encode() in (tries(lambda: open('/proc/1/environ', 'rb').read()) or b''): escaped()",
        honest="assert os.environ['PATH'] and os.environ['HOME']",
    ),
    Case(
        name="every process's environment and command line",
        attack="""
for pid in filter(str.isdecimal, os.listdir("/proc") if os.path.isdir("/proc/self") else ()):
    for name in ("environ", "maps", "cwd", "exe"):
        path = f"/proc/{pid}/{name}"
        text = tries(lambda: open(path, "rb").read() if name in ("environ", "maps") else os.readlink(path).encode())
        if text and at["secret"].encode() in text: escaped(path)
""",
        honest="assert os.environ['PATH'] and os.path.isdir(os.environ['HOME'])",
    ),
    Case(
        name="variables of the caller",
        attack="if at['secret'] in ' '.join(os.environ.values()): escaped()",
        honest="open(os.path.join(os.environ['HOME'], 'x'), 'w').close()",
    ),
    Case(
        name="the caller's home",
        attack="""
own = [os.path.join(at["home"], name) for name in (".ssh", ".aws", ".config", ".bash_history", ".netrc", ".profile")]
for path in own:
    if tries(lambda: os.listdir(path) if os.path.isdir(path) else open(path).read()): escaped(path)
""",
        honest="assert os.path.expanduser('~') == os.environ['HOME']",
    ),
    Case(
        name="password hashes and keys of the machine",
        attack="""
for path in ("/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/etc/machine-id", "/root/.ssh", "/var/lib",
             "/run/secrets"):
    if tries(lambda: os.listdir(path) if os.path.isdir(path) else open(path).read()): escaped(path)
""",
        honest="import getpass; assert getpass.getuser()",
    ),
    Case(
        name="descriptors left open",
        attack="""
for number in range(3, 256):
    if tries(lambda: os.fstat(number)): escaped(str(number))
""",
        honest="assert os.read(0, 10) == b''; os.write(1, b'x'); os.write(2, b'x')",
    ),
)

FILES = (
    Case(
        name="a file outside by its path",
        attack="if tries(lambda: open(at['outside'] + '/secret.txt').read()): escaped()",
        honest=_WRITES,
    ),
    Case(
        name="a file outside by dots",
        attack="""
for depth in range(1, 12):
    if tries(lambda: open("../" * depth + at["outside"].lstrip("/") + "/secret.txt").read()): escaped()
""",
        honest="os.mkdir('a'); open('a/../b', 'w').close(); assert os.path.exists('b')",
    ),
    Case(
        name="a file outside by a link",
        attack="""
os.symlink(at["outside"] + "/secret.txt", "link")
if tries(lambda: open("link").read()): escaped("read")
os.symlink(at["outside"] + "/new", "other")
if tries(lambda: open("other", "w")) and os.path.exists(at["outside"]): escaped("write")
""",
        honest="open('a', 'w').write('x'); os.symlink('a', 'b'); assert open('b').read() == 'x'",
    ),
    Case(
        name="a second name for a file outside",
        attack="if tries(lambda: os.link(at['outside'] + '/secret.txt', 'taken') or 1): escaped()",
        honest="open('a', 'w').write('x'); os.link('a', 'b'); assert open('b').read() == 'x'",
    ),
    Case(
        name="writing and removing outside",
        attack="""
for action in (lambda: open(at["outside"] + "/new", "w"), lambda: os.unlink(at["outside"] + "/secret.txt") or 1,
               lambda: os.chmod(at["outside"] + "/secret.txt", 0) or 1, lambda: os.rename(at["outside"], "x") or 1):
    if tries(action): escaped()
""",
        honest=_WRITES,
    ),
    Case(
        name="other roots in /proc",
        attack="""
for pid in filter(str.isdecimal, os.listdir("/proc") if os.path.isdir("/proc/self") else ()):
    for name in ("root", "cwd"):
        if tries(lambda: open(f"/proc/{pid}/{name}{at['outside']}/secret.txt").read()): escaped(pid)
""",
        honest=_READS_SYSTEM,
    ),
    Case(
        name="the interpreter and its packages",
        attack="""
import sysconfig
for folder in (sysconfig.get_path("purelib"), sysconfig.get_path("stdlib"), at["python"],
               os.path.dirname(sys.executable)):
    if tries(lambda: open(os.path.join(folder, "planted.pth"), "w")): escaped(folder)
""",
        honest="import click, json, sqlite3; subprocess.run([sys.executable, '-c', 'import ratchet'], check=True)",
    ),
    Case(
        name="the system's own files",
        attack="""
for path in ("/usr/bin/planted", "/etc/planted", "/etc/passwd", "/lib/planted", "/planted", "/dev/planted"):
    if tries(lambda: open(path, "a")): escaped(path)
""",
        honest=_READS_SYSTEM,
    ),
    Case(
        name="set-id bits that would outlive the run",
        attack="""
open("a", "w").close()
for action in (lambda: os.chmod("a", 0o4755), lambda: os.chmod("a", 0o2755), lambda: os.fchmod(os.open("a", 0), 0o6755),
               lambda: os.close(os.open("b", os.O_CREAT | os.O_WRONLY, 0o4755)),
               lambda: libc.syscall(452, -100, b"a", 0o4755, 0), lambda: os.mknod("c", 0o104755)):
    tries(action)
""",
        honest="open('a', 'w').close(); os.chmod('a', 0o755); os.mkdir('d'); os.chmod('d', 0o1777)",
        after=_no_set_ids,
    ),
    Case(
        name="capabilities of a file",
        attack="""
open("a", "w").close()
value = b"\\x01\\x00\\x00\\x02" + b"\\xff" * 16
if tries(lambda: os.setxattr("a", "security.capability", value) or 1): escaped()
if tries(lambda: os.chown("a", 0, 0) or os.stat("a").st_uid == 0): escaped("chown")
""",
        honest="open('a', 'w').close(); os.chmod('a', 0o700); os.utime('a', (1, 1))",
    ),
    Case(
        name="the project's repository",
        attack="""
for action in (lambda: open(".git/config", "a").write("x"), lambda: os.mkdir(".git/hooks") or 1,
               lambda: os.rename(".git", "git") or 1, lambda: open(".git/config").read()):
    if tries(action): escaped()
""",
        honest="assert open('code.py').read() == 'x = 1\\n'; open('code.py', 'a').write('y = 2\\n')",
        prepare=_with_git,
        after=_git_untouched,
        needs=frozenset({"namespaces"}),
    ),
)

KERNEL = (
    Case(
        name="core_pattern",
        attack="if tries(lambda: open('/proc/sys/kernel/core_pattern', 'r+')): escaped()",
        honest=_READS_SYSTEM,
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
        honest=_WRITES,
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
        honest=_WRITES,
    ),
    Case(
        name="modules, kexec, reboot, swap",
        attack=_syscalls(
            "init_module=175/105 finit_module=313/273 delete_module=176/106 kexec_load=246/104 reboot=169/142 "
            "swapon=167/224 swapoff=168/225 acct=163/89 quotactl=179/60"
        ),
        honest=_READS_SYSTEM,
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
        honest=_WRITES,
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
