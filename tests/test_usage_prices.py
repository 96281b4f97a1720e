"""What calls in an archive cost where prices change: as the price table itself says."""

from datetime import UTC, datetime
from itertools import product
from pathlib import Path

import genai_prices
import pytest

from etl.document import hash64
from sjduck.archive import Archive
from sjduck.modelnames import priced_model
from sjduck.spending import prepare
from tests import ledger
from tests.conftest import Fill
from tests.ledger import HAIKU, ONE

# Instants and sizes of input right before and right at a change.
EDGES = {
    "claude-opus-4-6": (
        ("2026-03-12T23:59:59.999999Z", "2026-03-13T00:00:00Z"),
        (199_999, 200_000, 200_001),
    ),
    "deepseek-chat": (
        (
            "2025-07-01T00:29:59.999999Z",
            "2025-07-01T00:30:00Z",
            "2025-07-01T16:29:59.999999Z",
            "2025-07-01T16:30:00Z",
            "2025-07-01T23:59:59.999999Z",
        ),
        (1_000,),
    ),
    HAIKU: (("1970-01-01T00:00:00Z", "2026-02-10T00:00:00Z"), (0, 1)),
}
CALLS = [
    (model, instant, size)
    for model, (instants, sizes) in EDGES.items()
    for instant, size in product(instants, sizes)
]


def listed(model: str, instant: str, size: int) -> float:
    """Return what the table says that 7 tokens of output for so much read input cost."""
    priced = priced_model(model, None)
    assert priced is not None
    spent = genai_prices.Usage(input_tokens=size, cache_read_tokens=size, output_tokens=7)
    moment = datetime.fromisoformat(instant).astimezone(UTC)
    found = priced.model.calc_price(spent, priced.provider, genai_request_timestamp=moment)
    return float(found.total_price)


def test_calls_cost_what_the_table_says_also_where_it_changes(
    tmp_path: Path, fill: Fill, archive: Archive
) -> None:
    calls = [
        ledger.answer(f"msg_{n}", 0, 7, at="09:00:00", model=model, read=size)
        | {"timestamp": instant}
        for n, (model, instant, size) in enumerate(CALLS)
    ]
    ledger.write_file(tmp_path / f"storage/atlas/-home-ann-shop/{ONE}.jsonl", calls)
    fill(f"scrubjay={tmp_path / 'storage'}")

    archive.ask(prepare)
    rows = archive.ask(lambda view: view.rows("select call_key, cost_usd from costs"))
    costs = {row["call_key"]: row["cost_usd"] for row in rows}

    assert len(rows) == len(CALLS)
    for n, call in enumerate(CALLS):
        assert costs[hash64(f"msg_{n}")] == pytest.approx(listed(*call), rel=1e-12), call
