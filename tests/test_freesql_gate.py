"""The gate of free SQL: what passes is one SELECT of published views, by functions that compute."""

import re
from collections.abc import Iterator

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sjduck import macros
from sjduck.errors import UsageError
from sjduck.freesql.gate import MAX_CHARACTERS, Statement, checked
from sjduck.sqlfiles import allowed_functions, published

# What an archive's connection has besides: stored rows, those pruned too.
INTERNAL = {"stored_blocks", "stored_documents", "copies", "chosen_blocks", "topics", "segments"}
RELATIONS = INTERNAL | published().keys() | {"pg_class", "duckdb_tables", "sqlite_master"}


@pytest.fixture(scope="module")
def parser() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        yield connection


Parser = duckdb.DuckDBPyConnection


def passed(query: str, parser: Parser) -> Statement:
    """Return a statement that passes."""
    return checked(query, parser, RELATIONS)


def outcome(query: str, parser: Parser) -> str:
    """Return what is said of a statement, nothing where it passes."""
    try:
        passed(query, parser)
    except UsageError as error:
        return str(error)
    return ""


PASSING = {
    "select 1": set(),
    "select 1;": set(),
    "select 1 ; -- and a comment ; \n": set(),
    "/* ; */ from blocks": {"blocks"},
    "select 'a;b', $$;$$, \"turns\" from documents": {"documents"},
    "values (1), (2)": set(),
    "table blocks": {"blocks"},
    "FROM Blocks SELECT count(*)": {"blocks"},
    "from main.blocks": {"blocks"},
    "summarize sessions": {"sessions"},
    "describe select host from sessions": {"sessions"},
    "from (describe select 1)": set(),
    "explain select * from costs": {"costs"},
    "explain analyze from turns": {"turns"},
    "pivot blocks on kind in ('text', 'thinking') using count(*) group by role": {"blocks"},
    "unpivot (from daily_usage) on input_tokens, output_tokens": {"daily_usage"},
    "with b as (from blocks), c as materialized (from b) select * from c, b": {"blocks"},
    "with blocks as (select 1 as x) from blocks": {"blocks"},
    "with recursive t(n) as (select 1 union all select n + 1 from t where n < 9) from t": set(),
    "with recursive t(n) using key (n) as (select 1 union select n % 3 from t) from t": set(),
    "from sessions s join costs c using (document) semi join messages m using (document)": {
        "sessions", "costs", "messages"
    },
    "from blocks positional join calls": {"blocks", "calls"},
    "from calls asof join costs on calls.sent_at >= costs.sent_at": {"calls", "costs"},
    "select columns('.*_tokens'), * exclude (document) from calls": {"calls"},
    "select columns(c -> c like 'm%') from calls": {"calls"},
    "select list_transform([1, 2], x -> x + 1), [x * 2 for x in [1, 2] if x > 1]": set(),
    "select row_number() over (partition by host order by sent_at) from costs qualify true": {
        "costs"
    },
    "select (select max(sent_at) from calls), exists(from costs where cost_usd > 1)": {
        "calls", "costs"
    },
    "from range(3) t(i), generate_series(1, 2), unnest([1, 2]) u(x)": set(),
    "select unnest(models) from sessions": {"sessions"},
    "from recall('a topic', k := 3) join sessions using (sid)": {"recall", "sessions"},
    "from (from sessions limit 1) s, readable(s.sid)": {"readable", "sessions"},
    "select input ->> 'command', json_extract(input, '$.a') from tool_calls": {"tool_calls"},
    "from blocks tablesample 1%": {"blocks"},
    "select sum(calls) from daily_usage group by grouping sets ((host), ())": {"daily_usage"},
    "select * from sessions where host = $host and turns > $n": {"sessions"},
    "select text collate nocase, try_cast(text as int), text::date from blocks": {"blocks"},
    "select 1 union by name select 2 as b except select 3 order by all limit 10%": set(),
}  # fmt: skip


@pytest.mark.parametrize("query", PASSING)
def test_a_select_of_views_passes(query: str, parser: Parser) -> None:
    assert passed(query, parser).names == PASSING[query]


@pytest.mark.parametrize(
    ("query", "described"),
    [
        ("show tables", ""),
        ("SHOW ALL TABLES;", ""),
        ("describe", ""),
        ("describe sessions", "sessions"),
        ("DESC Sessions", "sessions"),
        ("describe from sessions", "sessions"),
        ("describe select sid from sessions", None),
        ("describe (with sessions as (select 1) from sessions)", None),
    ],
)
def test_a_question_about_the_schema_is_known_as_one(
    query: str, described: str | None, parser: Parser
) -> None:
    assert passed(query, parser).described == described


BARRED = {
    # Several statements, or none.
    "select 1; select 2": "one statement at a time",
    "select 1; drop table blocks": "one statement at a time",
    "select 1;; select 2": "one statement at a time",
    "": "nothing to run",
    " ; ": "nothing to run",
    "-- only a comment": "nothing to run",
    "explain": "nothing to run",
    "select '\0'": "can't take a statement of a NUL",
    "select 1 -- " + "x" * MAX_CHARACTERS: "100,000 at most",
    # What is no SELECT.
    "copy blocks to '/tmp/out.csv'": "only a SELECT",
    "copy (select 1) to '/dev/stdout'": "only a SELECT",
    "attach '/tmp/other.duckdb'": "only a SELECT",
    "detach memory": "only a SELECT",
    "install httpfs": "only a SELECT",
    "load httpfs": "only a SELECT",
    "pragma database_list": "only a SELECT",
    "pragma enable_profiling": "only a SELECT",
    "set enable_external_access = true": "only a SELECT",
    "reset memory_limit": "only a SELECT",
    "set variable x = 1": "only a SELECT",
    "create table t as select 1": "only a SELECT",
    "create macro lower(x) as 'mine'": "only a SELECT",
    "create view blocks as select 1": "only a SELECT",
    "create secret (type s3)": "only a SELECT",
    "drop view blocks": "only a SELECT",
    "alter table blocks rename to b": "only a SELECT",
    "insert into documents select 1": "only a SELECT",
    "update documents set host = 'x'": "only a SELECT",
    "delete from documents": "only a SELECT",
    "truncate documents": "only a SELECT",
    "merge into documents using calls on true when matched then delete": "only a SELECT",
    "vacuum": "only a SELECT",
    "checkpoint": "only a SELECT",
    "force checkpoint": "only a SELECT",
    "export database '/tmp/out'": "only a SELECT",
    "import database '/tmp/in'": "only a SELECT",
    "call enable_logging(storage = 'file')": "only a SELECT",
    "prepare p as select 1": "only a SELECT",
    "execute p": "only a SELECT",
    "deallocate p": "only a SELECT",
    "use memory": "only a SELECT",
    "begin": "only a SELECT",
    "comment on view blocks is 'x'": "only a SELECT",
    "explain copy blocks to 'x'": "only a SELECT",
    "explain analyze insert into documents select 1": "only a SELECT",
    "explain (format json) select 1": "syntax error",
    "pivot blocks on kind using count(*)": "PIVOT needs its values",
    "with x as (insert into documents select 1 returning *) from x": "CTE needs a SELECT",
    "select * into t from blocks": "SELECT INTO",
    "select * from blocks for update": "locking",
    "selec 1": 'syntax error at or near "selec" (character 1)',
    "select 1) as a, (from stored_blocks": "syntax error",
    "select 1 /* and": "unterminated",
    # Files, in place of tables.
    "from '/etc/passwd'": "files can't be read",
    "from 'blocks.parquet'": "files can't be read",
    'from "a.csv"': "files can't be read",
    "from 's3://bucket/x.parquet'": "files can't be read",
    "with x as (from 'x.json') from x": "files can't be read",
    "select (select content from '/etc/passwd')": "files can't be read",
    'with "a.parquet" as (select 1) from "a.parquet"': "a CTE can't be called `a.parquet`",
    "describe 'x.parquet'": "files can't be read",
    "summarize 'x.parquet'": "files can't be read",
    "from blocks, lateral (from 'x.csv')": "files can't be read",
    # Tables that are not published, under any name.
    "from stored_blocks": "no view `stored_blocks`; nearest: blocks",
    'from "Stored_Blocks"': "no view `Stored_Blocks`",
    "from main.stored_blocks": "no view `stored_blocks`",
    "from memory.main.blocks": "name the view alone",
    "from system.main.duckdb_tables": "name the view alone",
    "from temp.main.x": "name the view alone",
    "from index_0.postings": "no schema `index_0`",
    "from information_schema.tables": "no schema `information_schema`",
    "from pg_catalog.pg_class": "no schema `pg_catalog`",
    "from pg_class": "no view `pg_class`",
    "from duckdb_tables": "no view `duckdb_tables`",
    "from sqlite_master": "no view `sqlite_master`",
    "with stored_blocks as (select 1) from stored_blocks": "a CTE can't be called",
    "from (with topics as (select 1) from topics), topics": "a CTE can't be called",
    "with t as (select 1) from main.t": "no view `t`",
    "describe stored_blocks": "no view `stored_blocks`",
    "summarize topics": "no view `topics`",
    "table segments": "no view `segments`",
    "pivot copies on host in ('a') using count(*)": "no view `copies`",
    "select * from blocks where document in (select document from topics)": "no view `topics`",
    "select 1 union select 1 from topics": "no view `topics`",
    "from blocks semi join topics using (document)": "no view `topics`",
    "with recursive t as (select 1 union all from topics) from t": "no view `topics`",
    "select list_transform([1], x -> (select max(1) from topics))": "no view `topics`",
    "select 1 limit (select count(*) from topics)": "no view `topics`",
    "select 1 order by (select 1 from topics)": "no view `topics`",
    "select sum(1) filter ((select true from topics))": "no view `topics`",
    "select sum(1) over (order by (select 1 from topics))": "no view `topics`",
    "from range((select count(*) from topics))": "no view `topics`",
    "select columns((select 'a' from topics)) from blocks": "no view `topics`",
    "values ((select 1 from topics))": "no view `topics`",
    "select case when true then (select 1 from topics) end": "no view `topics`",
    "show databases": "use DESCRIBE",
    "from (show all tables)": "use DESCRIBE",
    "show variables": "use DESCRIBE",
    "from blocks at (timestamp => now())": "AT is not allowed",
    "from sesions": "no view `sesions`; nearest: sessions",
    "from recall": "recall is a function: from recall('words'",
    # Functions that reach further than their arguments.
    "select * from enable_logging(storage = 'file', storage_path = '/tmp/x')": "is barred",
    "from enable_profiling()": "is barred",
    "from checkpoint()": "is barred",
    "from force_checkpoint('memory')": "is barred",
    "from read_text('/etc/passwd')": "is barred",
    "from read_blob('/etc/passwd')": "is barred",
    "from read_csv('/etc/passwd')": "is barred",
    "from read_csv_auto('/etc/passwd')": "is barred",
    "from read_json('x.json')": "is barred",
    "from read_parquet('x.parquet')": "is barred",
    "from parquet_scan('x.parquet')": "is barred",
    "from parquet_metadata('x.parquet')": "is barred",
    "from parquet_file_metadata('x.parquet')": "is barred",
    "from parquet_kv_metadata('x.parquet')": "is barred",
    "from read_duckdb('x.duckdb')": "is barred",
    "from sniff_csv('/etc/passwd')": "is barred",
    "from glob('/home/*')": "is barred",
    "from query('from stored_blocks')": "is barred",
    "from query_table('stored_blocks')": "is barred",
    "from query_table(['stored_blocks', 'topics'])": "is barred",
    "from json_execute_serialized_sql('{}')": "is barred",
    "select json_serialize_plan('from read_csv(''/etc/passwd'')')": "is barred",
    "from duckdb_settings()": "is barred",
    "from duckdb_secrets()": "is barred",
    "from duckdb_tables()": "is barred",
    "from duckdb_views()": "is barred",
    "from duckdb_databases()": "is barred",
    "from duckdb_external_file_cache()": "is barred",
    "from duckdb_logs": "no view `duckdb_logs`",
    "from pragma_table_info('stored_blocks')": "is barred",
    "from pragma_storage_info('topics')": "is barred",
    "from pragma_database_size()": "is barred",
    "from seq_scan('topics')": "is barred",
    "from histogram('topics', 'host')": "a value, not a table",
    "from histogram_values('topics', 'host')": "is barred",
    "from arrow_scan(1, 2, 3)": "is barred",
    "from pandas_scan(1)": "is barred",
    "from python_map_function(1)": "is barred",
    "from which_secret('x', 's3')": "is barred",
    "from truncate_duckdb_logs()": "is barred",
    "from test_all_types()": "is barred",
    "select getenv('HOME')": "no function `getenv`()",
    "select current_setting('temp_directory')": "is barred",
    "select main.current_setting('temp_directory')": "is barred",
    "select \"current_setting\"('temp_directory')": "is barred",
    "select x.current_setting() from (select 'threads' as x) t": "is barred",
    "select getvariable('x')": "is barred",
    "select nextval('s')": "is barred",
    "select write_log('x')": "is barred",
    "select sleep_ms(100000)": "is barred",
    "select pg_sleep(100)": "is barred",
    "select in_search_path('memory', 'main')": "is barred",
    "select get_block_size('memory')": "is barred",
    "select list_transform(['a'], x -> current_setting(x))": "is barred",
    "select [current_setting(x) for x in ['threads']]": "is barred",
    "select list_aggregate([1], 'sum'), list_reduce([1], (x, y) -> write_log(x))": "is barred",
    "from blocks group by current_setting('threads')": "is barred",
    "from blocks having nextval('s') > 1": "is barred",
    "select sum(x) over (order by getvariable('y')) from (select 1 as x)": "is barred",
    "select recall_rows(1, 'x', null, 1)": "no function `recall_rows`()",
    "select recall('x')": "a table, not a value",
    "from lower('x')": "a value, not a table",
    "select lowr('x')": "no function `lowr`(); nearest: lower",
    "select x::foo(getvariable('a')) from (select 1 as x)": "",
}


@pytest.mark.parametrize("query", BARRED, ids=lambda query: query[:60])
def test_what_is_no_select_of_views_is_barred(query: str, parser: Parser) -> None:
    with pytest.raises(UsageError) as raised:
        passed(query, parser)

    assert BARRED[query] in str(raised.value)
    assert "\n" not in str(raised.value)
    assert len(str(raised.value)) < 300


@pytest.mark.parametrize("depth", [200, 2_000, 20_000])
@pytest.mark.parametrize(("opening", "closing"), [("(", ")"), ("[", "]"), ("-", ""), ("not ", "")])
def test_deep_nesting_is_no_failure(depth: int, opening: str, closing: str, parser: Parser) -> None:
    query = f"select {opening * depth}1{closing * depth}"
    assert "\n" not in outcome(query[:MAX_CHARACTERS], parser)


# DuckDB's functions that free SQL may not call, for a reason that a newer one has to be given.
NOT_ALLOWED = re.compile(
    r"__.*|icu_.*|st_.*|pg_.*|has_.*_privilege|inet_.*|.*_description|(curr|next)val|sleep_ms"
    r"|current_(setting|schemas|query.*|role|transaction_id|connection_id)|get(variable|_block_size)"
    r"|in_search_path|txid_current|write_log|parse_duckdb_log_message|format_(type|pg_type)"
    r"|map_to_pg_oid|json_(serialize|deserialize)_.*|json_group_structure|error|setseed|alias"
    r"|combine|finalize|stats|vector_type|create_sort_key|remap_struct|constant_or_null|unpivot_list"
    r"|(cast_to|get|make|replace)_type|can_cast_implicitly|variant_(bytes|norm|to).*|enum_.*"
    r"|is_histogram_other_bin|sum_no_overflow|timetz_byte_comparable|md5_number.*|parse_dir.*"
    r"|array_to_string_comma_default"
)


def test_each_function_of_duckdb_is_allowed_or_barred_on_purpose(parser: Parser) -> None:
    rows = parser.execute(
        "select distinct function_name from duckdb_functions() "
        "where function_type in ('scalar', 'aggregate', 'macro')"
    ).fetchall()
    known = {name for (name,) in rows}

    assert allowed_functions() - known - {"unnest"} == set()
    assert {n for n in known - allowed_functions() if not NOT_ALLOWED.fullmatch(n)} == set()


# -- any statement -------------------------------------------------------------------------

_RELATIONS = st.sampled_from(
    [
        *published(), *INTERNAL, "main.blocks", "memory.main.topics", "information_schema.tables",
        "'/etc/passwd'", '"x.parquet"', "t", "u", "range(3)", "read_text('/etc/passwd')",
        "query_table('topics')", "duckdb_settings()", "unnest([1])", "recall('x')", "pg_class",
        "(show all tables)", "(describe topics)", "(values (1))",
    ]
)  # fmt: skip
_CALLED = ["lower", "sum", "coalesce", "getvariable", "current_setting", "nextval", "list_value",
           "row_number", "main.current_setting", "write_log", "unnest", "count"]  # fmt: skip


def _expressions(selects: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    leaves = st.sampled_from(["1", "'a'", "null", "$x", "host", "t.x", "*", "columns('a')"])
    return st.recursive(
        leaves | selects.map(lambda select: f"({select})"),
        lambda inner: st.one_of(
            st.builds(lambda name, x: f"{name}({x})", st.sampled_from(_CALLED), inner),
            st.builds(lambda x, y: f"({x} = {y})", inner, inner),
            inner.map(lambda x: f"[{x}, {x}]"),
            inner.map(lambda x: f"list_transform([1], y -> {x})"),
            inner.map(lambda x: f"case when {x} then {x} end"),
            inner.map(lambda x: f"sum(1) over (partition by {x})"),
            inner.map(lambda x: f"exists(select {x})"),
        ),
        max_leaves=4,
    )


def _selects(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    expressions = _expressions(inner)
    return st.one_of(
        st.builds(lambda x, r: f"select {x} from {r}", expressions, _RELATIONS),
        st.builds(lambda x, r, y: f"from {r} select {x} where {y}", expressions, _RELATIONS,
                  expressions),
        st.builds(lambda s, r: f"with t as ({s}) from t, {r}", inner, _RELATIONS),
        st.builds(lambda s, r: f"with recursive u as (from {r} union all {s}) from u", inner,
                  _RELATIONS),
        st.builds(lambda s, r: f"from {r} semi join ({s}) as v on true", inner, _RELATIONS),
        st.builds(lambda s, r: f"{s} union all by name (from {r})", inner, _RELATIONS),
        st.builds(lambda r: f"pivot {r} on host in ('a') using count(*)", _RELATIONS),
        inner.map(lambda s: f"summarize {s}"),
        inner.map(lambda s: f"explain {s}"),
    )  # fmt: skip


STATEMENTS = st.recursive(_RELATIONS.map(lambda r: f"from {r}"), _selects, max_leaves=5)


@given(query=STATEMENTS)
def test_whatever_passes_reads_published_views_alone(query: str) -> None:
    """DuckDB's own list of the tables that a statement reads is the other witness."""
    with duckdb.connect() as parser:
        try:
            statement = passed(query, parser)
        except UsageError:
            return
        try:
            tables = {name.lower() for name in parser.get_table_names(statement.text)}
        except duckdb.Error:
            tables = set()

    # A CTE's name means nothing outside of it: there are no such relations.
    assert tables - {"t", "u"} <= published().keys()
    assert statement.names <= published().keys() | macros.NAMES
    for barred in ("getvariable", "current_setting", "nextval", "write_log", "read_text", "query_"):
        assert f"{barred}(" not in query.lower()


@given(query=st.text(max_size=60) | STATEMENTS.flatmap(
    lambda text: st.integers(0, len(text)).map(lambda at: text[:at] + ";" + text[at:])
))  # fmt: skip
def test_no_text_makes_the_gate_fail(query: str) -> None:
    with duckdb.connect() as parser:
        said = outcome(query, parser)

    assert "\n" not in said
