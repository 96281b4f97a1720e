"""The row types of the etl and the tables that the dictionary describes are the same."""

import pytest

from etl.tables import ROW_TYPES, schema
from sjduck.sqlfiles import dictionary


@pytest.mark.parametrize("table", dictionary())
def test_a_row_has_the_columns_of_its_table_in_their_order(table: str) -> None:
    assert list(ROW_TYPES[table]._fields) == [column.name for column in dictionary()[table].columns]
    assert schema(table).names == list(ROW_TYPES[table]._fields)
