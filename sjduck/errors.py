"""What can go wrong, said in one line each, with the exit code of the command line."""


class SjduckError(Exception):
    """A failure whose message says what is wrong and what to do next."""

    exit_code = 1


class UsageError(SjduckError):
    """A flag, an argument or a setting that can't be taken."""

    exit_code = 2


class NothingToRead(SjduckError):
    """Neither an archive nor a source to fill one from."""

    exit_code = 3


class ArchiveUnusable(SjduckError):
    """The archive's place can't be read or written as an archive."""


class NewerFormat(ArchiveUnusable):
    """A newer sjduck wrote the archive: this one touches nothing of it."""


class Stopped(SjduckError):
    """A question that was ended before it had an answer."""
