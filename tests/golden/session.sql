-- Sessions: a late row merges two, and a retraction splits them again.
CREATE STREAM clicks (user STRING);
SELECT user, count(*) AS clicks FROM clicks [SESSION 3 MAX 8 PER user] GROUP BY user;
