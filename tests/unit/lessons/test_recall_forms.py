"""Recall by the form of what is asked: bare messages, texts in other scripts, and memories that many write at once."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ratchet.lessons.lessons import add
from ratchet.lessons.recall import recall
from ratchet.ports import Store
from ratchet.store.sqlite import SqliteStore
from ratchet.testing.stores import open_store

BARE = [
    "Connection reset by peer",
    "ConnectionResetError: [Errno 104] Connection reset by peer",
    "Segmentation fault (core dumped)",
    "socket hang up",
    "TypeError: fetch failed",
    "500 Internal Server Error",
    "504 Gateway Time-out",
    "unexpected EOF",
    "connect ETIMEDOUT",
    "Error: spawn ENOENT",
    "Access denied",
    "403 Forbidden",
    "error Command failed with exit code 137.",
    "Process completed with exit code 1.",
    "make: *** [all] Error 1",
    "collect2: error: ld returned 1 exit status",
    "error: subprocess-exited-with-error",
    "java.lang.NullPointerException",
    "StopIteration",
    "BUILD FAILED",
    "Aborted (core dumped)",
    "Terminated",
    "Too many open files",
    "Text file busy",
    "Name or service not known",
    "context deadline exceeded",
    "certificate has expired",
    "undefined is not a function",
    "未知错误",
    "Неизвестная ошибка",
    "Unbekannter Fehler",
]
Shape = Callable[[str, int, int], str]
AROUND: list[Shape] = [
    lambda said, _, __: said,
    lambda said, _, __: f"Exit code 1\n{said}",
    lambda said, number, at: f"$ task{number} run part{at}\n{said}",
    lambda said, _, at: f"deploy of part {at}: {said}",
    lambda said, _, __: f"Error: {said}",
    lambda said, number, at: (
        f'Traceback (most recent call last):\n  File "/app{number}/m{at}.py", line 3, in f\n{said}'
    ),
    lambda said, number, at: f"> app{number}@1.0.{at} build\n> bundle --mode p{at}\n\n{said}",
]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(tmp_path)
    yield opened
    opened.close()


def test_a_bare_message_of_two_causes_is_never_answered_whatever_stands_around_it(store: Store) -> None:
    pairs = [*itertools.combinations(AROUND, 2), (AROUND[0], AROUND[0])]
    with store.transaction():
        for number, said in enumerate(BARE):
            for at, shape in enumerate(pairs[number % len(pairs)]):
                add(store, when=shape(said, number, at), do=f"do {number} {at}", state="active")
    asked = [text for said in BARE for text in (said, f"Exit code 1\n{said}")]
    assert [text for text in asked if recall(store, text, listing=False).lessons] == []


def test_a_message_that_is_known_as_such_is_answered_though_another_one_goes_on_behind_it(store: Store) -> None:
    add(store, when="File does not exist.", do="list the folder first", state="active")
    add(store, when="File does not exist. Did you mean settings.json?", do="take the one it names", state="active")
    assert [each.text for each in recall(store, "File does not exist.").lessons] == ["list the folder first"]


def test_what_a_shell_tool_writes_above_an_output_changes_nothing(store: Store) -> None:
    add(store, when="Exit code 2\ncurl: (60) SSL certificate problem", do="renew it", state="active")
    for text in ("curl: (60) SSL certificate problem", "Exit code 60\ncurl: (60) SSL certificate problem"):
        (found,) = recall(store, text).lessons
        assert (found.text, found.score) == ("renew it", 1.0)


SCRIPTS = [
    ("npm 错误！找不到模块“lodash”", "npm 错误！找不到模块“express”", "npm 找不到模块怎么办"),
    ("错误: 端口 8080 已被占用，请先结束占用进程 3312", "错误: 端口 90 已被占用，请先结束占用进程 7", "端口被占用"),
    ("无法打开文件 /data/a.csv：权限不够", "无法打开文件 /srv/b.txt：权限不够", "打开文件权限不够"),
    ("编译失败：类型“String”不能赋值给“Int”", "编译失败：类型“Bool”不能赋值给“Float”", "类型不能赋值"),
    ("内存不足，无法分配 512 MB", "内存不足，无法分配 64 MB", "内存不足"),
    ("Ошибка: порт 8080 уже используется", "Ошибка: порт 3000 уже используется", "порт уже занят"),
    ("Не удалось найти модуль «requests»", "Не удалось найти модуль «numpy»", "модуль не удалось найти"),
    ("Отказано в доступе к файлу /var/db.sqlite", "Отказано в доступе к файлу /srv/x.db", "нет доступа к файлу"),
    ("Недостаточно места на диске: нужно 1200 МБ", "Недостаточно места на диске: нужно 7 МБ", "мало места на диске"),
    ("Тип «string» не может быть назначен", "Тип «boolean» не может быть назначен", "тип не назначен"),
    (
        "Port 8080 wird bereits von Prozess 771 verwendet",
        "Port 51 wird bereits von Prozess 9 verwendet",
        "Port verwendet",
    ),
    ("Modul „pandas“ wurde nicht gefunden", "Modul „scipy“ wurde nicht gefunden", "Modul nicht gefunden"),
    ("Zugriff auf Datei /etc/shadow verweigert", "Zugriff auf Datei /srv/geheim.txt verweigert", "Zugriff verweigert"),
    (
        "Nicht genügend Speicherplatz: 12 MB fehlen",
        "Nicht genügend Speicherplatz: 9 MB fehlen",
        "zu wenig Speicherplatz",
    ),
    ("Schreibfehler in Zeile 12: Gerät voll", "Schreibfehler in Zeile 4: Gerät voll", "Gerät ist voll, Schreibfehler"),
    (
        "エラー: ポート 8080 は既に使用されています",
        "エラー: ポート 3000 は既に使用されています",
        "ポートが使用されている",
    ),
    ("モジュール 'react' が見つかりません", "モジュール 'vue' が見つかりません", "モジュールが見つからない"),
    ("오류: 포트 8080이 이미 사용 중입니다", "오류: 포트 3000이 이미 사용 중입니다", "포트 이미 사용 중"),
]


def test_what_is_known_in_any_script_is_answered_with_other_parameters_and_listed_first_for_a_question(
    store: Store,
) -> None:
    with store.transaction():
        for at, (when, _, _) in enumerate(SCRIPTS):
            add(store, when=when, do=f"do {at}", state="active")
    answered = [[each.text for each in recall(store, again).lessons] for _, again, _ in SCRIPTS]
    assert answered == [[f"do {at}"] for at in range(len(SCRIPTS))]
    for at, (_, _, question) in enumerate(SCRIPTS):
        found = recall(store, question)
        assert [*found.lessons, *found.possibly][0].text == f"do {at}", question


def test_a_memory_of_the_first_lines_is_found_beside_a_longer_one_that_nobody_approved(store: Store) -> None:
    short = "fatal: No configured push destination.\nEither specify the URL from the command-line or"
    whole = f"{short} configure a remote repository using\n\n    git remote add <name> <url>\n\nand then push using "
    whole += "the remote name\n\n    git push <name>"
    add(store, when=short, do="name the remote", state="active", scope="global")
    add(store, when=whole, do="add one first", state="candidate", scope="global")
    assert [each.text for each in recall(store, whole, states=("active",)).lessons] == ["name the remote"]


WRITERS, EACH = 10, 12
_WRITES = """
import sys
from ratchet.lessons.lessons import add
from ratchet.lessons.recall import recall
from ratchet.store.sqlite import SqliteStore

path, name, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
store = SqliteStore(path)
sys.stdin.read(1)
for at in range(count):
    said = f"error: gadget{name}x{at} refuses its lever"
    add(store, when=said, do=f"oil {name} {at}", state="active")
    assert [each.text for each in recall(store, said).lessons] == [f"oil {name} {at}"], said
store.close()
"""


@pytest.mark.slow
@pytest.mark.sqlite
def test_ten_processes_that_write_at_once_each_find_what_they_wrote(tmp_path: Path) -> None:
    path = tmp_path / "ratchet.db"
    SqliteStore(path).close()
    running = [
        subprocess.Popen(
            [sys.executable, "-c", _WRITES, str(path), "abcdefghij"[at], str(EACH)],
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for at in range(WRITERS)
    ]
    for process in running:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    said = [process.communicate()[1] for process in running]
    assert (said, {process.returncode for process in running}) == ([""] * WRITERS, {0})
    store = SqliteStore(path)
    kept = {str(row["text"]) for row in store.find("lessons").rows}
    store.close()
    assert kept == {f"oil {name} {at}" for name in "abcdefghij" for at in range(EACH)}
