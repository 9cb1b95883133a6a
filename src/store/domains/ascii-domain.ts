// The ASCII form of a domain (Punycode, RFC 3492) as a procedure, for writes that compare names of domains where the rows are.
//
// Names are folded before they are stored, so that nothing else of IDNA is to be done. Nobody asks often: only names of
// domains that are closed are compared so.

import { defineProcedure } from '../engine/procedure.ts'

/** Names of a few labels: seldom asked for, and only of domains that are closed. */
const asciiLabel = defineProcedure(
  'ascii_label',
  '_label text',
  `DECLARE
  _points int[]; _said text; _point int; _least int; _n int := 128; _delta bigint := 0; _bias int := 72;
  _known int; _basic int; _q bigint; _k int; _t int; _damp boolean := true;
  _digits CONSTANT text := 'abcdefghijklmnopqrstuvwxyz0123456789';
BEGIN
  IF _label ~ '^[\\x01-\\x7f]*$' THEN RETURN _label; END IF;
  _points := ARRAY(SELECT ascii(c) FROM regexp_split_to_table(_label, '') WITH ORDINALITY AS s (c, n) ORDER BY n);
  _said := regexp_replace(_label, '[^\\x01-\\x7f]', '', 'g');
  _basic := length(_said);
  _known := _basic;
  IF _basic > 0 THEN _said := _said || '-'; END IF;
  WHILE _known < cardinality(_points) LOOP
    _least := (SELECT min(p) FROM unnest(_points) AS p WHERE p >= _n);
    _delta := _delta + (_least - _n)::bigint * (_known + 1);
    _n := _least;
    FOREACH _point IN ARRAY _points LOOP
      IF _point < _n THEN _delta := _delta + 1; END IF;
      CONTINUE WHEN _point <> _n;
      _q := _delta;
      _k := 36;
      LOOP
        _t := LEAST(GREATEST(_k - _bias, 1), 26);
        EXIT WHEN _q < _t;
        _said := _said || substr(_digits, (_t + (_q - _t) % (36 - _t))::int + 1, 1);
        _q := (_q - _t) / (36 - _t);
        _k := _k + 36;
      END LOOP;
      _said := _said || substr(_digits, _q::int + 1, 1);
      -- The bias is adapted.
      _delta := CASE WHEN _damp THEN _delta / 700 ELSE _delta / 2 END;
      _damp := false;
      _known := _known + 1;
      _delta := _delta + _delta / _known;
      _k := 0;
      WHILE _delta > 455 LOOP
        _delta := _delta / 35;
        _k := _k + 36;
      END LOOP;
      _bias := (_k + 36 * _delta / (_delta + 38))::int;
      _delta := 0;
    END LOOP;
    _delta := _delta + 1;
    _n := _n + 1;
  END LOOP;
  RETURN 'xn--' || _said;
END`,
  'text',
)

export const asciiDomain = defineProcedure(
  'ascii_domain',
  '_name text',
  `BEGIN
  RETURN (SELECT string_agg(${asciiLabel}(l), '.' ORDER BY n)
    FROM regexp_split_to_table(_name, '\\.') WITH ORDINALITY AS s (l, n));
END`,
  'text',
)
