-- Sessions as columns: a session that becomes longer has another window_end from then on.
CREATE STREAM clicks (user STRING);
SELECT user, window_start, window_end, count(*) AS clicks
FROM SESSION(TABLE clicks PARTITION BY user, 3)
GROUP BY user, window_start, window_end;
