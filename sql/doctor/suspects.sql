-- One row a text in which a secret may stand, the newest documents first.
with
    texts as (
        select document, seq, line_start, source_line, kind, tool_name, is_error, text
        from blocks
        where regexp_matches(text, $hint)
        union all
        select document, line, null, line, 'topic', null, null, topic
        from catalogue
        where regexp_matches(topic, $hint)
        union all
        select document, -1, null, null, 'title', null, null, title
        from (select document, unnest([custom_title, ai_title]) as title from documents)
        where regexp_matches(title, $hint)
        union all
        select document, source_line, null, source_line, 'reject', null, null, sample
        from rejects
        where regexp_matches(sample, $hint)
    )
select texts.*, type, host, project, sid, stem, timezone($tz, timezone('UTC', started_at)) as begun
from texts
join documents using (document)
order by started_at desc nulls last, document, seq, texts.kind, text
