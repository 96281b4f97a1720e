# /// script
# [tool.marimo.display]
# theme = "system"
# ///
"""The dashboard as a marimo app: controls, and which of our functions answers them."""

import marimo

app = marimo.App(width="full", app_title="sjduck", css_file="page.css")


@app.cell(hide_code=True)
def _():
    from dataclasses import replace

    import marimo as mo

    from sjduck.dashboard import charts, finding, pane, panels, spans
    from sjduck.dashboard.figures import GRAINS, SPLITS, choices, figures
    from sjduck.dashboard.series import label_of
    from sjduck.dashboard.showing import shown

    return (
        GRAINS, SPLITS, charts, choices, figures, finding, label_of, mo, pane, panels, replace,
        shown, spans,
    )  # fmt: skip


@app.cell(hide_code=True)
def _(choices, figures, shown, spans):
    archive, base = shown().archive, shown().filters
    known = choices(archive)
    whole = figures(archive, base)
    # A period that was given at the start is not for choosing any more.
    is_fixed = bool(base.since or base.until)
    usual = spans.ALL if is_fixed else spans.usual(whole.totals["last_at"], whole.tz)
    return archive, base, is_fixed, known, usual, whole


@app.cell(hide_code=True)
def _(GRAINS, SPLITS, charts, known, label_of, mo, spans, usual, whole):
    def several(by, label):
        return mo.ui.multiselect({label_of(name): name for name in known[by]}, label=label)

    span = mo.ui.dropdown(spans.SPANS, value=usual, label="period", allow_select_none=False)
    hosts = several("host", "host")
    projects = several("project", "project")
    harnesses = several("harness", "harness")
    models = several("model", "model")
    measure = mo.ui.dropdown(
        {name: key for key, name in charts.MEASURES.items()},
        value="cost",
        label="show",
        allow_select_none=False,
    )
    by = mo.ui.dropdown(SPLITS, value="model", label="by", allow_select_none=False)
    grain = mo.ui.dropdown(["auto", *GRAINS], value="auto", label="each", allow_select_none=False)
    first, last = whole.totals["first_at"], whole.totals["last_at"]
    days = mo.ui.date_range(value=(first.date(), last.date()), label="") if first else None
    return by, days, grain, harnesses, hosts, measure, models, projects, span


@app.cell(hide_code=True)
def _(base, days, harnesses, hosts, models, projects, replace, span, spans, whole):
    if span.value == spans.CHOSEN and days is not None:
        since, until = (f"{day}" for day in days.value)
    else:
        since, until = spans.since_of(span.value, whole.tz) or base.since, base.until
    filters = replace(
        base,
        since=since,
        until=until,
        hosts=tuple(hosts.value),
        projects=tuple(projects.value),
        harnesses=tuple(harnesses.value),
        models=tuple(models.value),
    )
    return (filters,)


@app.cell(hide_code=True)
def _(archive, figures, filters, grain):
    found = figures(archive, filters, grain=None if grain.value == "auto" else grain.value)
    return (found,)


@app.cell(hide_code=True)
def _(
    archive, by, days, found, grain, harnesses, hosts, is_fixed, known, measure, mo, models, panels,
    projects, span, spans, whole,
):  # fmt: skip
    choosable = [
        chosen
        for chosen, name in (
            (hosts, "host"), (projects, "project"), (harnesses, "harness"), (models, "model"),
        )
        if len(known[name]) > 1
    ]  # fmt: skip
    period = [] if is_fixed else [span]
    if span.value == spans.CHOSEN and days is not None:
        period.append(days)
    controls = [f"{control}" for control in (*period, *choosable, by, measure, grain)]
    head = panels.head(f"{archive.root}", controls)
    if found.totals["calls"]:
        body = panels.page(
            found,
            known,
            by=by.value,
            measure=measure.value,
            draw=lambda chart: mo.as_html(chart).text,
        )
    else:
        body = panels.nothing(is_filtered=bool(whole.totals["calls"]))
    mo.Html(f'<div class="sjd">{head}{body}</div>')
    return


@app.cell(hide_code=True)
def _(mo):
    query = mo.ui.text(
        placeholder="words that you remember, in any order",
        label="Find a conversation",
        full_width=True,
    )
    # The pane's own buttons turn its pages.
    get_place, set_place = mo.state(None, allow_self_loops=True)
    return get_place, query, set_place


@app.cell(hide_code=True)
def _(archive, filters, finding, found, mo, pane, query, set_place):
    if query.value.strip():
        rows, said = finding.hits(archive, query.value, filters)
    else:
        rows = finding.sessions(found)
        said = "the sessions that cost most" if rows else "no sessions with calls"
    places = [pane.place_of(row) for row in rows]
    readers = [
        mo.ui.button(label="read", on_change=lambda _, place=place: set_place(place))
        for place in places
    ]
    listed = finding.table(rows, [f"{reader}" for reader in readers], query.value)
    return listed, readers, said


@app.cell(hide_code=True)
def _(archive, get_place, listed, mo, pane, panels, query, said, set_place):
    place = get_place()
    if place is None:
        page, turners = None, []
    else:
        page = pane.page(archive, place, query.value)
        before = place.earlier()
        after = place.later(page.following) if page.following else None
        turners = [
            mo.ui.button(
                label=label,
                disabled=target is None,
                on_change=lambda _, target=target: set_place(target),
            )
            for label, target in (("earlier", before), ("later", after))
        ]
    mo.Html(panels.reading(f"{query}", listed, said, page, [f"{turner}" for turner in turners]))
    return


if __name__ == "__main__":
    app.run()
