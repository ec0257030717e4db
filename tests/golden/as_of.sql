-- As-of joins: a late quote corrects the trades it was the right one for, and a retraction undoes it.
CREATE STREAM trades (symbol STRING, at BIGINT);
CREATE STREAM quotes (symbol STRING, at BIGINT, bid INT);
SELECT t.symbol, t.at, q.bid
FROM trades t ASOF LEFT JOIN quotes q MATCH_CONDITION (t.at >= q.at) ON t.symbol = q.symbol;
