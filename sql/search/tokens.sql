-- One row a token of a search: the part it stands in, its stem, whether other stems may stand for
-- it, and a name that says so.
with
    cut as (
        select
            part,
            kind,
            list_filter(
                string_split(
                    regexp_replace(lower(strip_accents(text)), '[^\p{L}\p{N}]+', ' ', 'g'), ' '
                ),
                lambda token:token <> ''
            ) as tokens
        from asked
    ),
    numbered as (
        select
            part,
            kind,
            unnest(tokens) as token,
            generate_subscripts(tokens, 1) = len(tokens) as is_last
        from cut
    ),
    judged as (
        select
            *,
            kind = 'phrase' and is_last and length(token) >= 3 as is_begun,
            regexp_full_match(
                token,
                '[\p{Han}\p{Hangul}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]'
            ) as is_inside
        from numbered
    )
select distinct
    part,
    kind,
    token,
    stem(token, 'porter') as stem,
    is_begun,
    is_inside,
    concat(
        stem(token, 'porter'), case when is_begun then '*' when is_inside then '?' else '' end
    ) as name
from judged
