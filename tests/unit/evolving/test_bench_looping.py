"""When an agent goes round in circles, and when it only says little."""

from __future__ import annotations

from ratchet.evolving.bench.looping import PATIENCE_S, LoopWatch


class Watched:
    """A watch over files and a clock that the test moves."""

    def __init__(self) -> None:
        self.now = 0.0
        self.files = "as they were"
        self.watch = LoopWatch(lambda: self.files, clock=lambda: self.now)

    def says(self, *lines: str, times: int = 1, pause_s: float = 0.5) -> bool:
        """Whether it was seen going round in circles at any moment."""
        found = False
        for _ in range(times):
            self.watch.hear("stdout", "".join(f"{line}\n" for line in lines).encode())
            found = found or self.watch.looping()
            self.now += pause_s
        return found


def test_one_step_over_and_over_without_a_change_is_a_loop() -> None:
    assert Watched().says("Reading config.yaml", times=60)


def test_several_steps_over_and_over_are_a_loop() -> None:
    assert Watched().says("plan", "call search('x')", "no result", times=60)


def test_the_same_failure_counts_as_the_same_step_whatever_its_numbers() -> None:
    watched = Watched()
    lines = [f"attempt {n}: Error: KeyError 'x' at 0x7f{n:06x}" for n in range(60)]
    assert any(watched.says(line) for line in lines)


def test_a_counter_that_moves_is_progress() -> None:
    watched = Watched()
    assert not any(watched.says(f"done {n} of 600") for n in range(100))


def test_the_same_step_with_files_that_change_is_work() -> None:
    watched = Watched()
    found = []
    for n in range(100):
        watched.files = f"state {n}"
        found.append(watched.says("writing the next part"))
    assert not any(found)


def test_a_few_repeats_are_no_loop_and_silence_after_them_is_none_either() -> None:
    watched = Watched()
    assert not watched.says("waiting", times=11)
    watched = Watched()
    assert not watched.says("waiting", times=12, pause_s=0.01)
    for _ in range(100):  # it waits for a model's answer, and says nothing
        watched.now += 1
        assert not watched.watch.looping()


def test_a_loop_is_named_only_once_it_lasted() -> None:
    watched = Watched()
    assert not watched.says("again", times=1_000, pause_s=PATIENCE_S / 2_000)


def test_output_without_line_ends_and_odd_bytes_do_no_harm() -> None:
    watched = Watched()
    for _ in range(50):
        watched.watch.hear("stderr", b"\xff\x00" * 50_000)
        watched.now += 1
        assert not watched.watch.looping()
