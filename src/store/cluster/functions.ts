// What a node asks of the database about leases, in PL/pgSQL on a connection of its own: joining, renewing, taking what nobody
// serves, handing over.
//
// All that changes a lease stands here. It happens under one lock (`balancing`), by the database's clock alone, and never while
// a batch of the node that loses the lease is under way: each batch holds its writer's row to its end
// (../engine/postgres/writer/functions.ts), and so does whoever changes a lease of that writer.

import { engineClock } from '../engine/procedure.ts'
import { answers, leases, nodes, numberBlocks } from './tables.ts'

/** Of all locks of the database this one, by its number. */
const balancing = 'pg_advisory_xact_lock(7430414)'
const tryBalancing = 'pg_try_advisory_xact_lock(7430414)'

/** Makes the leases that are not there; gives the node's number. Leases of the process before it with this name begin anew. */
const join = `CREATE FUNCTION pg_temp.teal_join(_name text, _incarnation text, _span bigint, _leases int)
RETURNS bigint LANGUAGE plpgsql AS $join$
DECLARE _num bigint; _now bigint;
BEGIN
  PERFORM ${balancing};
  INSERT INTO ${leases} (shard, node, term) SELECT s, 0, 1 FROM generate_series(0, _leases - 1) AS s ON CONFLICT DO NOTHING;
  SELECT num INTO _num FROM ${nodes} WHERE name = _name;
  IF NOT FOUND THEN
    SELECT 1 + greatest((SELECT coalesce(max(num), 0) FROM ${nodes}), (SELECT coalesce(max(writer), 0) FROM writer_call)) INTO _num;
    INSERT INTO ${nodes} (num, name, incarnation, until, leaving, began) VALUES (_num, _name, '', 0, 0, 0);
  END IF;
  INSERT INTO meta (key, value) VALUES ('cluster', floor(random() * 1e15)) ON CONFLICT DO NOTHING;
  PERFORM 1 FROM writer_call WHERE writer = _num FOR UPDATE;
  _now := ${engineClock};
  UPDATE ${nodes} SET incarnation = _incarnation, until = _now + _span, leaving = 0, began = _now WHERE num = _num;
  UPDATE ${leases} SET term = term + 1 WHERE node = _num;
  RETURN _num;
END $join$`

/** The time, where the node is still this process. */
const renew = `CREATE FUNCTION pg_temp.teal_renew(_num bigint, _incarnation text, _span bigint)
RETURNS bigint LANGUAGE plpgsql AS $renew$
BEGIN
  UPDATE ${nodes} SET until = ${engineClock} + _span WHERE num = _num AND incarnation = _incarnation;
  RETURN CASE WHEN FOUND THEN ${engineClock} END;
END $renew$`

/** The node leaves in order: nobody counts on it from now on. */
const part = `CREATE FUNCTION pg_temp.teal_part(_num bigint, _incarnation text) RETURNS void LANGUAGE sql AS $part$
  UPDATE ${nodes} SET until = ${engineClock} - 1 WHERE num = _num AND incarnation = _incarnation $part$`

/** Takes of what nobody serves up to a fair share. Gives how many the node has above that. */
const balance = `CREATE FUNCTION pg_temp.teal_balance(_num bigint, _forget bigint, _answered bigint, _withdrawn bigint) RETURNS bigint LANGUAGE plpgsql AS $balance$
DECLARE _now bigint; _dead bigint[]; _live bigint; _fair bigint; _own bigint; _found bigint[];
BEGIN
  IF NOT ${tryBalancing} THEN RETURN 0; END IF;
  _now := ${engineClock};
  -- A row that is held is being renewed.
  SELECT coalesce(array_agg(num), '{}') INTO _dead
    FROM (SELECT num FROM ${nodes} WHERE until < _now AND num <> _num FOR UPDATE SKIP LOCKED) AS gone;
  SELECT count(*) INTO _live FROM ${nodes} WHERE num = _num OR (until >= _now AND leaving = 0);
  SELECT ceil(count(*)::numeric / _live), count(*) FILTER (WHERE node = _num) INTO _fair, _own FROM ${leases};
  IF _own < _fair THEN
    SELECT array_agg(shard) INTO _found FROM (SELECT shard FROM ${leases} WHERE node = 0 OR node = ANY (_dead)
      ORDER BY random() LIMIT _fair - _own) AS free;
    IF _found IS NOT NULL THEN
      PERFORM 1 FROM writer_call WHERE writer IN (SELECT node FROM ${leases} WHERE shard = ANY (_found)) ORDER BY writer FOR UPDATE;
      UPDATE ${leases} SET node = _num, term = term + 1 WHERE shard = ANY (_found);
    END IF;
  END IF;
  DELETE FROM writer_call WHERE writer IN (SELECT num FROM ${nodes} WHERE until < _now - _forget
    AND num = ANY (_dead) AND num NOT IN (SELECT node FROM ${leases}));
  DELETE FROM ${nodes} WHERE until < _now - _forget AND num = ANY (_dead) AND num NOT IN (SELECT node FROM ${leases});
  DELETE FROM ${answers} WHERE kept < _now - _answered AND (reply IS NOT NULL OR kept < _now - _withdrawn);
  RETURN greatest(_own - _fair, 0);
END $balance$`

/** Gives shards to the live nodes that have fewest; nobody has them where there is none. */
const handOver = `CREATE FUNCTION pg_temp.teal_hand_over(_num bigint, _shards bigint[]) RETURNS void LANGUAGE plpgsql AS $over$
DECLARE _now bigint;
BEGIN
  PERFORM ${balancing};
  PERFORM 1 FROM writer_call WHERE writer = _num FOR UPDATE;
  _now := ${engineClock};
  WITH held AS (
    SELECT n.num, count(l.shard) AS has FROM ${nodes} n LEFT JOIN ${leases} l ON l.node = n.num
    WHERE n.until >= _now AND n.leaving = 0 AND n.num <> _num GROUP BY n.num
  ), places AS (
    SELECT num, row_number() OVER (ORDER BY at, num) AS place
    FROM held, generate_series(has + 1, has + cardinality(_shards)) AS at
  )
  UPDATE ${leases} SET node = coalesce(given.num, 0), term = term + 1
  FROM (SELECT s.shard, p.num FROM unnest(_shards) WITH ORDINALITY AS s (shard, place) LEFT JOIN places p USING (place)) AS given
  WHERE lease.shard = given.shard AND node = _num;
END $over$`

/** Who is there, and all leases where one was given since `_seen`: their terms together grow with each. */
const look = `CREATE FUNCTION pg_temp.teal_look(_seen bigint) RETURNS jsonb LANGUAGE plpgsql AS $look$
DECLARE _now bigint := ${engineClock}; _version bigint; _nodes jsonb; _leases jsonb;
BEGIN
  SELECT coalesce(jsonb_agg(jsonb_build_object('num', num, 'incarnation', incarnation, 'name', name, 'alive', until >= _now, 'leaving', leaving = 1,
    'silentMs', greatest(_now - until, 0), 'leftMs', until - _now) ORDER BY name), '[]') INTO _nodes FROM ${nodes};
  SELECT sum(term) INTO _version FROM ${leases};
  IF _version <> _seen THEN
    SELECT sum(term), jsonb_build_object('node', jsonb_agg(node ORDER BY shard), 'term', jsonb_agg(term ORDER BY shard))
      INTO _version, _leases FROM ${leases};
  END IF;
  RETURN jsonb_build_object('version', _version, 'nodes', _nodes, 'leases', _leases);
END $look$`

/** Numbers in a row for each name, all above what was given out before and above `_least`; gives the first of each. */
const blocks = `CREATE FUNCTION pg_temp.teal_blocks(_least jsonb, _count bigint) RETURNS jsonb LANGUAGE sql AS $blocks$
  WITH given AS (
    INSERT INTO ${numberBlocks} (name, last) SELECT key, value::bigint + _count FROM jsonb_each_text(_least) ORDER BY key
    ON CONFLICT (name) DO UPDATE SET last = greatest(number_block.last, excluded.last - _count) + _count RETURNING name, last
  ) SELECT jsonb_object_agg(name, last - _count + 1) FROM given $blocks$`

/** What came of a call; nobody will carry it out any more where nobody has. */
const withdraw = `CREATE FUNCTION pg_temp.teal_withdraw(_call text) RETURNS bytea LANGUAGE plpgsql AS $withdraw$
BEGIN
  -- Waits for a batch that has done so and is on its way to the disk.
  INSERT INTO ${answers} (call, reply, kept) VALUES (_call, NULL, ${engineClock}) ON CONFLICT DO NOTHING;
  RETURN (SELECT reply FROM ${answers} WHERE call = _call);
END $withdraw$`

/** What a connection is told first. */
export const leaseFunctions: readonly string[] = [join, renew, part, balance, handOver, look, blocks, withdraw]
