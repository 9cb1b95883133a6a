// What writes of the queue do that read between their statements, as procedures.
//
// outbound.ts has the same for SQLite beside the writes that call these; a test runs both on the same rows
// (test/postgres/writes.test.ts).

import { releaseBody } from '../bodies/writes.ts'
import { defineProcedure, engineClock } from '../engine/procedure.ts'
import { closedByNumber, heldByNumber } from './domain-hold.ts'

/** What leaves at once is due now by the engine's clock at the latest: whoever queues it may have one that is ahead. */
export const addTarget = defineProcedure(
  'outbound_target_add',
  '_message bigint, _seq bigint, _kind text, _value text, _lane text, _due bigint',
  `DECLARE _queued bigint := (SELECT created FROM outbound WHERE num = _message);
BEGIN
  IF _due <= _queued THEN _due := least(_due, ${engineClock}); END IF;
  INSERT INTO outbound_target (message, seq, kind, value, lane, state, attempts, due)
    VALUES (_message, _seq, _kind, _value, _lane, 0, 0, _due + ${heldByNumber}(_message));
END`,
)

/** `finish`, as a procedure. */
export const finishOne = defineProcedure(
  'outbound_finish',
  '_message bigint, _at bigint',
  `DECLARE _body bigint;
BEGIN
  IF EXISTS (SELECT 1 FROM outbound_target WHERE message = _message AND state < 2) THEN RETURN; END IF;
  SELECT body INTO _body FROM outbound WHERE num = _message AND body IS NOT NULL;
  IF NOT FOUND THEN RETURN; END IF;
  UPDATE outbound SET body = NULL, done = _at WHERE num = _message;
  PERFORM ${releaseBody}(_body);
END`,
)

export const settleOne = defineProcedure(
  'outbound_target_settle',
  `_message bigint, _seq bigint, _state bigint, _due bigint, _back bigint, _failure text, _status bigint, _response text,
    _warned bigint`,
  `BEGIN
  UPDATE outbound_target SET state = _state, attempts = attempts - _back, failure = _failure, status = _status,
    due = _due + CASE _state WHEN 0 THEN ${heldByNumber}(_message) ELSE 0 END, response = _response,
    warned = coalesce(_warned, warned) WHERE message = _message AND seq = _seq AND state = 1;
END`,
)

export const retryNow = defineProcedure(
  'outbound_retry',
  '_message bigint, _at bigint',
  `BEGIN
  UPDATE outbound_target SET due = _at + ${closedByNumber}(_message) WHERE message = _message AND state = 0;
END`,
)

export const sweepOld = defineProcedure(
  'outbound_sweep',
  '_before bigint, _count bigint',
  `DECLARE _old bigint[] := ARRAY(
    SELECT num FROM outbound WHERE done IS NOT NULL AND done < _before ORDER BY done, num LIMIT _count);
BEGIN
  DELETE FROM outbound_attempt WHERE message = ANY (_old);
  DELETE FROM outbound_bounce WHERE message = ANY (_old);
  DELETE FROM outbound_target WHERE message = ANY (_old);
  DELETE FROM outbound WHERE num = ANY (_old);
END`,
)
