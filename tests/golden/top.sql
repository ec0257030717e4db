-- The best two of all, corrected when one is withdrawn and when one comes late.
CREATE STREAM scores (team STRING, player STRING, score INT);
SELECT player, score FROM scores ORDER BY score DESC, player LIMIT 2;
