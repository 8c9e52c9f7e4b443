"""What all faults do: disturb a run at a moment, mend what they broke, resume it."""

import time

from soak.runs import Case, Head, scripts

COMPLETED = r"Task completed > "
N_TASKS = 28  # of the profile `test`


class Fault:
    """A disturbed run that is resumed until it is complete; a subclass says what disturbs it."""

    survives = False  # the disturbed run itself ends well

    def __init__(self, case: Case):
        self.case, self.rng = case, case.rng
        self.facts: dict = {}

    def __enter__(self):
        self.case.folder.mkdir()
        self.prepare()
        return self

    def __exit__(self, *_) -> None:
        self.repair()

    def prepare(self) -> None:
        """Before the run."""

    def inject(self, head: Head) -> str:
        """Disturb the run, and say how."""
        raise NotImplementedError

    def repair(self) -> None:
        """Before the run is resumed, and in the end."""

    def start(self) -> Head:
        return self.case.start()

    def at_a_moment(self, head: Head) -> None:
        """Wait for a random moment: after a number of tasks, and up to a second more."""
        count = int(self.rng.integers(0, N_TASKS))
        self.facts["moment"] = f"after {count} tasks"
        head.when(head.log) if count == 0 else head.until(COMPLETED, count)
        time.sleep(self.rng.uniform(0, 1))

    def run(self) -> dict:
        head = self.start()
        self.at_a_moment(head)
        self.facts["injected"] = self.inject(head) if head.process.poll() is None else "the run had ended"
        status = head.ended()
        if self.survives and status:
            raise RuntimeError(f"the run did not survive: exit status {status}")
        self.repair()
        resumes = self.resume()
        tasks = self.case.tasks()
        cached = sum(task["status"] == "CACHED" for task in tasks)
        return self.facts | {"status": status, "resumes": resumes, "tasks": len(tasks), "cached": cached}

    def resume(self) -> int:
        self.case.start("-resume").ended(status=0)
        return 1

    def script(self, head: Head) -> tuple[int, str] | None:
        """A running script of a task, waited for."""
        found: dict[int, str] = {}
        head.when(lambda: found.update(scripts(self.case.folder)) or found)
        return list(found.items())[int(self.rng.integers(len(found)))] if found else None
