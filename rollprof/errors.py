"""The few kinds of trouble rollprof reports, each with the exit code it ends with."""

from __future__ import annotations

EXIT_OK = 0
EXIT_CHECK_FAILED = 1
EXIT_USAGE = 2
EXIT_INTERNAL = 70
EXIT_INTERRUPTED = 130


class RollprofError(Exception):
    """Something the user can act on: one line that says what is wrong and where, and a hint.

    `hint` says what to do; `exit_code` is what the process ends with.
    """

    exit_code = EXIT_USAGE

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageProblem(RollprofError):
    """The command line asks for something that does not exist or does not fit together."""


class ConfigProblem(RollprofError):
    """A configuration file or environment variable is wrong."""


class InputProblem(RollprofError):
    """The input cannot be read, or holds nothing to analyse."""


class DatasetProblem(RollprofError):
    """A dataset directory is damaged, of a newer schema, or not a dataset."""


class MissingExtra(RollprofError):
    """An optional dependency is needed for this input."""

    @classmethod
    def for_package(cls, package: str, extra: str, why: str) -> MissingExtra:
        """`package` is needed to do `why`; name the extra that installs it."""
        return cls(f"{why} needs the package {package}", hint=f'pip install "rollprof[{extra}]"')
