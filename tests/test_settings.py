"""Settings: flag, then environment, then file, then default; what can't be taken is named."""

import socket
from datetime import date
from pathlib import Path

import platformdirs
import pytest

from sjduck.errors import UsageError
from sjduck.settings import (
    OwnPrice,
    Settings,
    Source,
    check_timezone,
    config_file,
    load,
    machine_timezone,
)


@pytest.fixture
def file(home: Path) -> Path:
    """Return where the configuration file lies in the test's home."""
    path = home / ".config" / "sjduck" / "config.toml"
    path.parent.mkdir(parents=True)
    return path


def told(sources: tuple[Source, ...]) -> list[tuple[str, str, str]]:
    """Return what matters of sources."""
    return [(source.kind, source.path.name, source.host) for source in sources]


# -- which value is in force ---------------------------------------------------------------


def test_without_anything_there_are_defaults(home: Path) -> None:
    settings = load(environment={})

    assert settings.archive == Path(platformdirs.user_data_dir("sjduck"))
    assert settings.host == socket.gethostname().split(".")[0]
    assert settings.timezone == machine_timezone()
    assert settings.sources == ()


def test_the_archive_is_of_the_flag_then_the_environment_then_the_file(file: Path) -> None:
    environment = {"SJDUCK_ARCHIVE": "/from/environment"}
    file.write_text('archive = "/from/file"\n')

    assert load(archive="/from/flag", environment=environment).archive == Path("/from/flag")
    assert load(environment=environment).archive == Path("/from/environment")
    assert load(environment={}).archive == Path("/from/file")


def test_the_remote_is_of_the_environment_then_the_file_then_scrubjay(file: Path) -> None:
    scrubjays = {"SCRUBJAY_MCP_REMOTE": "theirs"}
    nowhere = load(environment={}).remote
    by_scrubjay = load(environment=scrubjays).remote
    file.write_text('remote = "nas"')

    assert (nowhere, by_scrubjay) == (None, "theirs")
    assert load(environment=scrubjays).remote == "nas"
    assert load(environment={**scrubjays, "SJDUCK_REMOTE": "ours"}).remote == "ours"


def test_the_time_zone_is_of_the_flag_then_the_file(file: Path) -> None:
    file.write_text('timezone = "Asia/Tokyo"\n')

    assert load(timezone="Europe/Berlin", environment={}).timezone == "Europe/Berlin"
    assert load(environment={}).timezone == "Asia/Tokyo"


def test_the_host_is_of_the_environment_then_the_file_then_scrubjay(home: Path, file: Path) -> None:
    scrubjay = home / ".config" / "scrubjay" / "host"
    scrubjay.parent.mkdir()
    scrubjay.write_text("from-scrubjay\n")
    file.write_text('host = "from-file"\n')

    assert load(environment={"CLAUDE_HOST": "from-environment"}).host == "from-environment"
    assert load(environment={}).host == "from-file"
    file.write_text("")
    assert load(environment={}).host == "from-scrubjay"
    scrubjay.write_bytes(b"\xff\xfe")
    assert load(environment={}).host == socket.gethostname().split(".")[0]


def test_the_configuration_file_may_lie_elsewhere(tmp_path: Path, home: Path) -> None:
    named = {"SJDUCK_CONFIG": "~/my.toml", "XDG_CONFIG_HOME": str(tmp_path)}

    assert config_file(named) == home / "my.toml"
    assert config_file({"XDG_CONFIG_HOME": str(tmp_path)}) == tmp_path / "sjduck" / "config.toml"
    assert config_file({}) == home / ".config" / "sjduck" / "config.toml"


def test_empty_values_are_none(file: Path) -> None:
    file.write_text('archive = ""\nhost = ""\ntimezone = ""\n')

    settings = load(archive="", environment={"SJDUCK_ARCHIVE": "", "CLAUDE_HOST": ""})

    assert settings == load(environment={"SJDUCK_CONFIG": "/nowhere"})


@pytest.mark.parametrize(
    ("written", "path"),
    [
        ("~/a", "{home}/a"),
        ("a/../b", "{cwd}/b"),
        ("/a//b/", "/a/b"),
        ("~nobody.at.all", "{cwd}/~nobody.at.all"),
    ],
)
def test_paths_are_made_absolute(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: str, path: str
) -> None:
    monkeypatch.chdir(tmp_path)

    archive = load(archive=written, environment={}).archive

    assert archive == Path(path.format(home=home, cwd=tmp_path))


def test_paths_in_the_file_are_relative_to_its_folder(home: Path, tmp_path: Path) -> None:
    named = tmp_path / "etc" / "my.toml"
    named.parent.mkdir()
    named.write_text('archive = "a"\n[[source]]\nkind = "claude"\npath = "../b"\n')

    settings = load(environment={"SJDUCK_CONFIG": str(named)})

    assert settings.archive == named.parent / "a"
    assert [source.path for source in settings.sources] == [tmp_path / "b"]


def test_a_file_with_a_bom_is_read(file: Path) -> None:
    file.write_bytes(b'\xef\xbb\xbfhost = "windows"\r\n')

    assert load(environment={}).host == "windows"


# -- sources -------------------------------------------------------------------------------


def trees(home: Path, *names: str) -> None:
    """Make folders below the home."""
    for name in names:
        (home / name).mkdir(parents=True)


def test_flags_replace_all_other_sources(home: Path, file: Path) -> None:
    trees(home, ".claude/projects", "a", "b")
    file.write_text('[[source]]\nkind = "scrubjay"\npath = "~/b"\n')

    settings = load(sources=[f"claude={home}/a", "scrubjay-logs=~/b"], environment={})

    assert told(settings.sources) == [
        ("claude", "a", settings.host),
        ("scrubjay-logs", "b", settings.host),
    ]


def test_a_tree_that_two_flags_name_is_one_source(home: Path) -> None:
    trees(home, "a")

    assert len(load(sources=[f"claude={home}/a", "claude=~/a/"], environment={}).sources) == 1


def test_sources_come_from_the_file_the_environment_and_this_machine(
    home: Path, file: Path
) -> None:
    trees(home, ".claude/projects", ".config/claude/projects")
    file.write_text(
        '[[source]]\nkind = "claude"\npath = "/backup"\nname = "old laptop"\nhost = "laptop"\n'
    )
    environment = {
        "CLAUDE_HOST": "here",
        "SCRUBJAY_LOCAL_CHATS": "/nas/storage",
        "SCRUBJAY_DATA": "/nas/data",
        "SCRUBJAY_MEMORY": "/nas/memory",
    }

    sources = load(environment=environment).sources

    assert told(sources) == [
        ("claude", "backup", "laptop"),
        ("scrubjay", "storage", "here"),
        ("scrubjay-logs", "data", "here"),
        ("scrubjay-memory", "memory", "here"),
        ("claude", ".claude", "here"),
        ("claude", "claude", "here"),
    ]
    assert sources[0].name == "old laptop"


def test_this_machine_is_left_out_where_the_file_says_so(home: Path, file: Path) -> None:
    trees(home, ".claude/projects")
    file.write_text("this_machine = false\n")

    assert load(environment={}).sources == ()


def test_a_home_without_projects_is_no_source(home: Path) -> None:
    trees(home, ".claude")

    assert load(environment={}).sources == ()


def test_claude_config_dir_names_the_homes(home: Path) -> None:
    trees(home, ".claude/projects", "one/projects", "two/projects", "three")
    environment = {"CLAUDE_CONFIG_DIR": f"{home}/one,~/two,,{home}/three"}

    assert [s.path for s in load(environment=environment).sources] == [home / "one", home / "two"]


def test_a_tree_that_is_named_twice_is_one_source(home: Path, file: Path) -> None:
    trees(home, "real/projects")
    (home / ".claude").symlink_to("real")
    file.write_text('[[source]]\nkind = "claude"\npath = "~/real"\n')

    assert [source.path for source in load(environment={}).sources] == [home / "real"]


def test_a_memory_tree_inside_its_storage_is_no_second_source(home: Path) -> None:
    trees(home, "storage/memory", "elsewhere")
    inside = {"SCRUBJAY_LOCAL_CHATS": "~/storage", "SCRUBJAY_MEMORY": "~/storage/memory"}
    apart = {"SCRUBJAY_LOCAL_CHATS": "~/storage", "SCRUBJAY_MEMORY": "~/elsewhere"}

    assert [s.kind for s in load(environment=inside).sources] == ["scrubjay"]
    assert [s.kind for s in load(environment=apart).sources] == ["scrubjay", "scrubjay-memory"]


# -- what can't be taken -------------------------------------------------------------------


def refused(file: Path, text: str) -> str:
    """Return what is said of a file with this text."""
    file.write_text(text)
    with pytest.raises(UsageError) as caught:
        load(environment={})
    message = str(caught.value)
    assert message.startswith(("can't read ", f"{file}: "))
    assert "\n" not in message
    return message


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ('archiv = "/x"', "unknown key 'archiv'; did you mean 'archive'?"),
        (
            "zzz = 1",
            "known keys: archive, host, prices, redact, remote, semantic, source, this_machine",
        ),
        ('[[sources]]\nkind = "claude"', "did you mean 'source'?"),
        ('[[source]]\nkind = "claude"\npth = "/x"', "[[source]]: unknown key 'pth'"),
        ('[[source]]\nkind = "cluade"\npath = "/x"', "'cluade'; did you mean 'claude'?"),
        ('prices = "cheap"', "[prices] must be a table"),
        ("[prices]\nnotes = 1", "[prices]: unknown key 'notes'; did you mean 'note'?"),
        ("[prices]\nnote = 1", "[prices]: note must be a text"),
        ("[prices]\nmodel = 1", "[prices]: write each model as a [[prices.model]] table"),
        ("[[prices.model]]\ninput = 1", '[[prices.model]] needs model = "…"'),
        (
            '[[prices.model]]\nmodel = "m"\ninputs = 1',
            "unknown key 'inputs'; did you mean 'input'?",
        ),
        ('[[prices.model]]\nmodel = "m"\ninput = "1"', "input must be US dollars, 0 or more"),
        ('[[prices.model]]\nmodel = "m"\noutput = -1', "output must be US dollars, 0 or more"),
        ('[[prices.model]]\nmodel = "m"\ninput = nan', "input must be US dollars, 0 or more"),
        ('[[prices.model]]\nmodel = "m"\nsince = "2026-03-01"', "since must be a day"),
        ('[[source]]\nkind = "zzz"\npath = "/x"', "kinds: claude, codex"),
        ('[[source]]\nkind = "claude"', 'a [[source]] needs path = "…"'),
        ('[[source]]\npath = "/x"', 'a [[source]] needs kind = "…"'),
        ('[[source]]\nkind = "claude"\npath = ""', 'needs path = "…"'),
        ('[[source]]\nkind = "claude"\npath = "/x"\nhost = 5', "[[source]]: host must be a text"),
        ('[[source]]\nkind = "claude"\npath = ["/x"]', "path must be a text"),
        ("archive = 5", "archive must be a text"),
        ('redact = "yes"', 'redact must be "secrets" or "off", not \'yes\''),
        ("redact = true", "redact must be"),
        ("host = true", "host must be a text"),
        ('this_machine = "no"', "this_machine must be true or false"),
        ('[source]\nkind = "claude"', "write each source as a [[source]] table"),
        ('source = ["claude=/x"]', "write each source as a [[source]] table"),
    ],
)
def test_a_file_that_cannot_be_taken_says_where_and_why(file: Path, text: str, hint: str) -> None:
    assert hint in refused(file, text)


def test_what_the_environment_says_of_secrets_beats_the_file(file: Path) -> None:
    unset = load(environment={}).redact
    file.write_text('redact = "secrets"\n')

    assert unset is None
    assert load(environment={}).redact == "secrets"
    assert load(environment={"SJDUCK_REDACT": "off"}).redact == "off"
    with pytest.raises(UsageError, match="SJDUCK_REDACT must be"):
        load(environment={"SJDUCK_REDACT": "1"})


def test_a_file_that_is_no_toml_is_named(file: Path) -> None:
    assert str(file) in refused(file, "archive = ")


def test_a_file_that_is_no_text_is_named(file: Path) -> None:
    file.write_bytes(b"host = '\xff'")

    with pytest.raises(UsageError, match=r"can't read .*config\.toml"):
        load(environment={})


def test_a_file_that_is_a_folder_is_named(file: Path) -> None:
    file.mkdir()

    with pytest.raises(UsageError, match=r"can't read .*config\.toml"):
        load(environment={})


def test_a_zone_of_the_file_is_checked(file: Path) -> None:
    file.write_text('timezone = "Berlin"\n')

    with pytest.raises(UsageError, match=r"config\.toml: unknown time zone 'Berlin'; use an IANA"):
        load(environment={})


@pytest.mark.parametrize(
    "name", ["", "Berlin", "Europe", "../x", "/etc/passwd", "a\0b", "x" * 5_000]
)
def test_a_zone_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="unknown time zone"):
        check_timezone(name)


@pytest.mark.parametrize(
    ("flag", "message"),
    [
        ("claude", "can't take source 'claude'; write KIND=PATH"),
        ("claude=", "can't take source 'claude='; write KIND=PATH"),
        ("=/tmp", "unknown kind of source ''"),
        ("cluade=/tmp", "did you mean 'claude'?"),
        ("claude=/no/such/folder", "is not a folder; check the path"),
        ("claude=/etc/passwd", "is not a folder; check the path"),
        ("claude=~nobody.at.all", "is not a folder; check the path"),
        ("claude=" + "x" * 5_000, "is not a folder; check the path"),
        ("claude=a\0b", "is not a folder; check the path"),
    ],
)
def test_a_source_flag_that_cannot_be_taken_says_why(flag: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        load(sources=[flag], environment={})

    assert message in str(caught.value)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("zone", ["No/Such_Zone", "", "EST5EDT4", ":/nowhere"])
def test_a_broken_zone_of_the_machine_is_no_failure(
    monkeypatch: pytest.MonkeyPatch, zone: str
) -> None:
    monkeypatch.setenv("TZ", zone)

    assert check_timezone(machine_timezone())


def test_settings_cannot_be_changed() -> None:
    settings = load(environment={})

    assert isinstance(settings, Settings)
    with pytest.raises(AttributeError):
        settings.host = "other"  # type: ignore[misc]


def test_own_prices_come_from_the_configuration(file: Path) -> None:
    file.write_text(
        '[prices]\nnote = "before tax"\n[[prices.model]]\nmodel = "m"\nprovider = "p"\n'
        "since = 2026-03-01\ninput = 1\noutput = 2.5\n"
    )

    prices = load().prices

    assert prices.note == "before tax"
    assert prices.own == (OwnPrice("m", provider="p", since=date(2026, 3, 1), input=1, output=2.5),)
