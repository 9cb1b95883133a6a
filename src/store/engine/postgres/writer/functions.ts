// The functions of a writing connection, in PL/pgSQL: one for each statement that was ever told, one that finds them by number,
// and the call that carries out a batch.
//
// They live as long as the connection (pg_temp): so they are always those of this program, whatever other versions of it are at
// the same database, and nobody needs the right to change its schema. A statement's plan is kept with its function.

import type { Procedure } from '../../procedure.ts'

/** An error of our own: another service took over. */
export const takenOver = 'TL001'

/** An error of our own: a unit's lease is somebody else's by now. */
export const fenced = 'TL003'

/** Who writes (one row each), in which session of which owner, and what came of the last call: a lost answer is looked up there. */
export const writerTable = `CREATE TABLE writer_call (
  writer bigint PRIMARY KEY, owner text NOT NULL, session bigint NOT NULL, call bigint NOT NULL, failures jsonb
)`

/** Makes the function of a statement: takes its values as a JSON array, bytes as place and length in `_b`. */
const define = `CREATE FUNCTION pg_temp.teal_define(_name text, _text text) RETURNS void LANGUAGE plpgsql AS $define$
DECLARE
  _types text[]; _type text; _value text; _said text; _given text := '';
BEGIN
  EXECUTE format('PREPARE %I AS %s', _name, _text);
  SELECT parameter_types::text[] INTO _types FROM pg_prepared_statements WHERE name = _name;
  EXECUTE format('DEALLOCATE %I', _name);
  FOR _n IN 1 .. coalesce(array_length(_types, 1), 0) LOOP
    _type := _types[_n];
    _value := CASE _type WHEN 'bytea' THEN format('substring(_b, (_v->%1$s->>0)::int, (_v->%1$s->>1)::int)', _n - 1)
      ELSE format('(_v->>%s)::%s', _n - 1, _type) END;
    _given := _given || format('_%s %s := %s; ', _n, _type, _value);
  END LOOP;
  _said := regexp_replace(regexp_replace(_text, '\\$(\\d+)', '_\\1', 'g'), '^SELECT ', 'PERFORM ');
  EXECUTE format('CREATE FUNCTION pg_temp.%I(_v jsonb, _b bytea) RETURNS int LANGUAGE plpgsql AS %L', _name,
    format('DECLARE %s BEGIN %s; RETURN 0; END', _given, _said));
END $define$`

/**
 * A batch. Without care all of it or nothing; with care each unit in a block of its own, and one that breaks a rule is undone
 * alone, with what was made from the same state (epoch). What is nobody's doing (disk, memory, a lock) undoes the batch.
 *
 * Where nodes share the database, units come with the lease they were made under, a shard and its term: one whose lease is not
 * this writer's any more is refused alone. The writer's row is held to the end of the batch, and whoever gives the lease to
 * another node holds it, too (../../cluster/functions.ts), so that no lease changes while a batch is under way.
 */
const call = `CREATE FUNCTION pg_temp.teal_call(
  _writer bigint, _session bigint, _call bigint, _leases jsonb, _units jsonb, _steps jsonb, _b bytea
) RETURNS jsonb LANGUAGE plpgsql AS $call$
DECLARE
  _at int := 0; _end int; _done int; _unit jsonb; _partition text; _epoch bigint;
  _failures jsonb := '[]'; _stale jsonb := '{}';
  _state text; _said text; _detail text; _table text; _constraint text; _column text;
BEGIN
  UPDATE writer_call SET call = _call, failures = NULL WHERE writer = _writer AND session = _session;
  IF NOT FOUND THEN RAISE EXCEPTION USING ERRCODE = '${takenOver}', MESSAGE = 'another service writes to this database'; END IF;
  IF _units IS NULL THEN
    IF _leases IS NOT NULL AND EXISTS (SELECT FROM jsonb_array_elements(_leases) AS u (l) LEFT JOIN lease ON shard = (l->>0)::bigint
      WHERE node IS DISTINCT FROM _writer OR term IS DISTINCT FROM (l->>1)::bigint)
    THEN RAISE EXCEPTION USING ERRCODE = '${fenced}', MESSAGE = 'another node has an account of this batch'; END IF;
    _end := jsonb_array_length(_steps);
    WHILE _at < _end LOOP
      _done := pg_temp.teal_step((_steps->_at)::int, _steps->(_at + 1), _b);
      _at := _at + 2;
    END LOOP;
    RETURN NULL;
  END IF;
  FOR _place IN 0 .. jsonb_array_length(_units) - 1 LOOP
    _unit := _units->_place;
    _partition := _unit->>0;
    _epoch := (_unit->1)::bigint;
    _end := (_unit->2)::int;
    IF _partition <> '0' AND (_stale->_partition)::bigint >= _epoch THEN
      _failures := _failures || jsonb_build_array(jsonb_build_object('unit', _place, 'state', 'stale'));
    ELSIF _unit->>3 IS NOT NULL AND NOT EXISTS (SELECT FROM lease
      WHERE shard = (_unit->>3)::bigint AND node = _writer AND term = (_unit->>4)::bigint)
    THEN
      _failures := _failures || jsonb_build_array(jsonb_build_object('unit', _place, 'state', '${fenced}'));
    ELSE
      BEGIN
        WHILE _at < _end LOOP
          _done := pg_temp.teal_step((_steps->_at)::int, _steps->(_at + 1), _b);
          _at := _at + 2;
        END LOOP;
      EXCEPTION WHEN OTHERS THEN
        GET STACKED DIAGNOSTICS _state = RETURNED_SQLSTATE, _said = MESSAGE_TEXT, _detail = PG_EXCEPTION_DETAIL,
          _table = TABLE_NAME, _constraint = CONSTRAINT_NAME, _column = COLUMN_NAME;
        IF left(_state, 2) IN ('08', '25', '40', '53', '55', '57', '58', 'F0', 'XX') THEN RAISE; END IF;
        _failures := _failures || jsonb_build_array(jsonb_build_object('unit', _place, 'state', _state, 'text', _said,
          'detail', _detail, 'table', _table, 'constraint', _constraint, 'column', _column));
        IF _partition <> '0' THEN _stale := _stale || jsonb_build_object(_partition, _epoch); END IF;
      END;
    END IF;
    _at := _end;
  END LOOP;
  UPDATE writer_call SET failures = _failures WHERE writer = _writer;
  RETURN _failures;
END $call$`

/** What a connection is told first. */
export function setUp(procedures: readonly Procedure[], words: (text: string) => string): string[] {
  const made = procedures.map(({ takes, gives, body, ...procedure }) => {
    return `CREATE FUNCTION ${procedure}(${takes}) RETURNS ${gives} LANGUAGE plpgsql AS $body$\n${words(body)}\n$body$`
  })
  return [define, dispatch([]), call, ...made]
}

/** The function that finds a statement's by its number, its place among `names`, in few steps. */
export function dispatch(names: readonly string[]): string {
  return `CREATE OR REPLACE FUNCTION pg_temp.teal_step(_s int, _v jsonb, _b bytea) RETURNS int LANGUAGE plpgsql AS $step$
BEGIN
IF _s < 0 OR _s >= ${names.length} THEN RAISE EXCEPTION 'no statement has the number %', _s; END IF;
${branch(names, 0)}
END $step$`
}

function branch(names: readonly string[], from: number): string {
  if (names.length === 0) return ''
  if (names.length === 1) return `RETURN pg_temp.${names[0]}(_v, _b);`
  const half = names.length >> 1
  return `IF _s < ${from + half} THEN ${branch(names.slice(0, half), from)}
ELSE ${branch(names.slice(half), from + half)}
END IF;`
}
