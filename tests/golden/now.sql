-- [NOW]: bids and asks that come at the same instant.
CREATE STREAM bids (symbol STRING, bid INT);
CREATE STREAM asks (symbol STRING, ask INT);
SELECT b.symbol, bid, ask FROM bids [NOW] AS b JOIN asks [NOW] AS a ON b.symbol = a.symbol AND bid >= ask;
