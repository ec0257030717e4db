"""Queries in the manner of TPC-H and Nexmark, against Spark SQL over the table of all rows."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import driftline as dl

pytestmark = pytest.mark.spark

DAY = date(1995, 1, 1)
START = datetime(2024, 5, 1, tzinfo=UTC)

TABLES: dict[str, dict[str, str]] = {
    "customer": {"c_id": "INT", "c_name": "STRING", "c_segment": "STRING", "c_nation": "INT"},
    "nation": {"n_id": "INT", "n_name": "STRING"},
    "orders": {"o_id": "INT", "o_customer": "INT", "o_date": "DATE", "o_priority": "STRING"},
    "lineitem": {
        "l_order": "INT",
        "l_part": "INT",
        "l_quantity": "INT",
        "l_price": "DECIMAL(10,2)",
        "l_discount": "DECIMAL(4,2)",
        "l_flag": "STRING",
        "l_shipped": "DATE",
    },
    "person": {"id": "BIGINT", "name": "STRING", "city": "STRING", "at": "TIMESTAMP"},
    "auction": {
        "id": "BIGINT",
        "item": "STRING",
        "seller": "BIGINT",
        "category": "INT",
        "at": "TIMESTAMP",
        "expires": "TIMESTAMP",
    },
    "bid": {"auction": "BIGINT", "bidder": "BIGINT", "price": "BIGINT", "at": "TIMESTAMP"},
}
NEXMARK = ("person", "auction", "bid")
STREAMS = "".join(
    f"CREATE STREAM {name} ({', '.join(f'{each} {kind}' for each, kind in columns.items())})"
    f"{' WITH (time = ' + chr(39) + 'at' + chr(39) + ')' if name in NEXMARK else ''};\n"
    for name, columns in TABLES.items()
)

QUERIES = {
    "pricing summary (1)": """
        SELECT l_flag, sum(l_quantity) AS quantity, sum(l_price) AS base,
               sum(l_price * (1 - l_discount)) AS discounted, avg(l_quantity) AS average,
               count(*) AS n
        FROM lineitem WHERE l_shipped <= DATE '1995-03-01' GROUP BY l_flag""",
    "shipping priority (3)": """
        SELECT l_order, sum(l_price * (1 - l_discount)) AS revenue, o_date
        FROM customer, orders, lineitem
        WHERE c_segment = 'BUILDING' AND c_id = o_customer AND l_order = o_id
          AND o_date < DATE '1995-03-15'
        GROUP BY l_order, o_date ORDER BY revenue DESC, o_date, l_order LIMIT 5""",
    "order priority (4)": """
        SELECT o_priority, count(*) AS n FROM orders
        WHERE EXISTS (SELECT * FROM lineitem WHERE l_order = o_id AND l_quantity > 20)
        GROUP BY o_priority""",
    "local supplier volume (5)": """
        SELECT n_name, sum(l_price) AS revenue
        FROM customer JOIN orders ON c_id = o_customer JOIN lineitem ON l_order = o_id
             JOIN nation ON c_nation = n_id
        GROUP BY n_name HAVING sum(l_price) > 100""",
    "forecast (6)": """
        SELECT sum(l_price * l_discount) AS revenue FROM lineitem
        WHERE l_discount BETWEEN 0.02 AND 0.06 AND l_quantity < 40 HAVING count(*) > 0""",
    "important parts (11)": """
        SELECT l_part, sum(l_quantity) AS quantity FROM lineitem GROUP BY l_part
        HAVING sum(l_quantity) > (SELECT sum(l_quantity) * 0.1 FROM lineitem)""",
    "customer distribution (13)": """
        SELECT n, count(*) AS customers
        FROM (SELECT c_id, count(o_id) AS n
              FROM customer LEFT OUTER JOIN orders ON c_id = o_customer AND o_priority <> '1'
              GROUP BY c_id) AS counted
        GROUP BY n""",
    "promotion effect (14)": """
        SELECT 100 * sum(CASE WHEN l_part % 2 = 0 THEN l_price ELSE 0 END) / sum(l_price) AS share
        FROM lineitem HAVING count(*) > 0""",
    "top supplier (15)": """
        WITH revenue AS (SELECT l_part AS part, sum(l_price) AS total FROM lineitem GROUP BY l_part)
        SELECT part, total FROM revenue WHERE total = (SELECT max(total) FROM revenue)""",
    "large volume (18)": """
        SELECT c_name, o_id, sum(l_quantity) AS quantity
        FROM customer, orders, lineitem
        WHERE o_id IN (SELECT l_order FROM lineitem GROUP BY l_order HAVING sum(l_quantity) > 60)
          AND c_id = o_customer AND o_id = l_order
        GROUP BY c_name, o_id""",
    "customers without orders (22)": """
        SELECT c_nation, count(*) AS n FROM customer
        WHERE c_id NOT IN (SELECT o_customer FROM orders WHERE o_customer IS NOT NULL)
        GROUP BY c_nation""",
    "currency (Nexmark 1)": "SELECT auction, 0.908 * price AS price, bidder FROM bid",
    "selection (Nexmark 2)": "SELECT auction, price FROM bid WHERE auction % 3 = 0",
    "local items (Nexmark 3)": """
        SELECT p.name, p.city, a.id FROM auction a JOIN person p ON a.seller = p.id
        WHERE a.category = 1 AND (p.city = 'Basel' OR p.city = 'Bern')""",
    "average price (Nexmark 4)": """
        SELECT category, avg(final) AS average FROM (
          SELECT max(b.price) AS final, a.category FROM auction a, bid b
          WHERE a.id = b.auction AND b.at BETWEEN a.at AND a.expires
          GROUP BY a.id, a.category) AS q
        GROUP BY category""",
    "bids by the hour (Nexmark 17)": """
        SELECT auction, date_format(at, 'yyyy-MM-dd') AS day, count(*) AS n,
               count(*) FILTER (WHERE price < 50) AS low, min(price) AS least,
               count(DISTINCT bidder) AS bidders
        FROM bid GROUP BY auction, date_format(at, 'yyyy-MM-dd')""",
    "last bid (Nexmark 18)": """
        SELECT auction, bidder, price FROM (
          SELECT *, row_number() OVER (PARTITION BY bidder, auction ORDER BY at DESC, price) AS n
          FROM bid) AS q
        WHERE n <= 1""",
    "top bids (Nexmark 19)": """
        SELECT auction, price, place FROM (
          SELECT *, rank() OVER (PARTITION BY auction ORDER BY price DESC) AS place FROM bid) AS q
        WHERE place <= 2""",
    "no bids": """
        SELECT a.id FROM auction a WHERE NOT EXISTS (SELECT 1 FROM bid b WHERE b.auction = a.id)""",
}


def rows_of(random: Random) -> dict[str, list[tuple[Any, ...]]]:
    def day() -> date:
        return DAY + timedelta(days=random.randrange(120))

    def money(most: int) -> Decimal:
        return Decimal(random.randrange(most)) / 100

    moments = [START + timedelta(seconds=7 * i) for i in range(80)]
    return {
        "nation": [(i, f"nation {i}") for i in range(4)],
        "customer": [
            (i, f"customer {i}", random.choice(["BUILDING", "AUTO"]), random.randrange(5))
            for i in range(12)
        ],
        "orders": [
            (i, random.choice([None, *range(14)]), day(), str(random.randint(1, 3)))
            for i in range(30)
        ],
        "lineitem": [
            (
                random.randrange(33),
                random.randrange(9),
                random.randint(1, 50),
                money(90_000),
                money(10),
                random.choice("NRA"),
                day(),
            )
            for _ in range(90)
        ],
        "person": [
            (i, f"person {i}", random.choice(["Basel", "Bern", "Chur"]), moments[i])
            for i in range(12)
        ],
        "auction": [
            (
                i,
                f"item {i}",
                random.randrange(14),
                random.randrange(3),
                moments[i],
                moments[i] + timedelta(minutes=random.randint(1, 6)),
            )
            for i in range(15)
        ],
        "bid": [
            (random.randrange(11), random.randrange(12), random.randint(1, 99), moments[i])
            for i in range(80)
        ],
    }


def plain(value: Any) -> Any:
    return value.replace(tzinfo=None) if isinstance(value, datetime) else value


@pytest.fixture(scope="module")
def tables(spark: Any) -> dict[str, pa.Table]:
    made = {}
    for name, rows in rows_of(Random(3)).items():
        columns = TABLES[name]
        schema = ", ".join(f"{each} {kind}" for each, kind in columns.items())
        spark.createDataFrame(rows, schema).createOrReplaceTempView(name)
        schema_of_name = dl.sql(f"{STREAMS} SELECT * FROM {name}").schema
        made[name] = pa.table(
            [list(values) for values in zip(*rows, strict=True)], schema=schema_of_name.arrow
        )
    return made


@pytest.mark.parametrize("name", QUERIES)
def test_the_end_of_the_stream_is_the_answer_for_the_table(
    name: str, tables: dict[str, pa.Table], spark: Any
) -> None:
    query = dl.sql(STREAMS + QUERIES[name])
    inputs = {
        each: _events(tables[each], source.time) for each, source in query.plan.sources().items()
    }
    history = query.run(inputs, batch=25).history().to_pylist()
    emitted = Counter(
        tuple(plain(value) for column, value in row.items() if column not in ("vs", "ve"))
        for row in history
        if row["ve"] is None
    )
    expected = Counter(
        tuple(plain(value) for value in row) for row in spark.sql(QUERIES[name]).collect()
    )
    assert expected
    assert emitted == expected


def _events(table: pa.Table, time: str | None) -> Any:
    """Plain records where there is a time; else events, one a tick."""
    if time is not None:
        return table
    return [
        dl.Insert(number, dl.INFINITY, dl.Row(row)) for number, row in enumerate(table.to_pylist())
    ]
