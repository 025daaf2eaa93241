-- Prepare a database for Citus, distributed by project_id. Offline: docs/howto/citus.md.
--
--     psql --single-transaction -v ON_ERROR_STOP=1 -f citus.sql "$DATABASE_URL"
--
-- Without the extension citus it stops after step 3, so that it can be tried on a copy.

CREATE TEMPORARY TABLE spread ON COMMIT DROP AS
SELECT c.oid AS id, c.relname::text AS name, EXISTS (
         SELECT FROM pg_attribute a
         WHERE a.attrelid = c.oid AND a.attname = 'project_id' AND a.attnotnull
       ) AS has_project
FROM pg_class c
WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace
  AND c.relname ~ '^(memories|playbook|context|ace|search)_';

DO $$
DECLARE
  each record;
BEGIN
  -- 1. No foreign key can leave its shard, or come in from a table that stays whole.
  FOR each IN
    SELECT conrelid::regclass AS owner, conname FROM pg_constraint
    WHERE contype = 'f'
      AND (conrelid IN (SELECT id FROM spread) OR confrelid IN (SELECT id FROM spread))
  LOOP
    EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', each.owner, each.conname);
  END LOOP;

  -- 2. Primary keys and unique constraints begin with the project.
  FOR each IN
    SELECT conrelid::regclass AS owner, conname, pg_get_constraintdef(k.oid) AS was
    FROM pg_constraint k JOIN spread ON spread.id = conrelid AND has_project
    WHERE contype IN ('p', 'u') AND NOT EXISTS (
      SELECT FROM pg_attribute a
      WHERE a.attrelid = conrelid AND a.attnum = ANY (conkey) AND attname = 'project_id')
  LOOP
    EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I, ADD CONSTRAINT %2$I %s', each.owner,
                   each.conname, regexp_replace(each.was, '\(', '(project_id, '));
  END LOOP;

  -- 3. So do unique indexes.
  FOR each IN
    SELECT indexrelid::regclass AS name, pg_get_indexdef(indexrelid) AS was
    FROM pg_index i JOIN spread ON spread.id = indrelid AND has_project
    WHERE indisunique AND NOT EXISTS (
      SELECT FROM pg_attribute a
      WHERE a.attrelid = indrelid AND a.attnum = ANY (indkey) AND attname = 'project_id')
  LOOP
    EXECUTE format('DROP INDEX %s', each.name);
    EXECUTE regexp_replace(each.was, 'USING btree \(', 'USING btree (project_id, ');
  END LOOP;

  -- 4. Rows go to the shard of their project; tables without one are on every node.
  IF EXISTS (SELECT FROM pg_extension WHERE extname = 'citus') THEN
    SET LOCAL citus.enable_unsafe_triggers = on; -- the guards of append-only tables
    FOR each IN SELECT name, has_project FROM spread ORDER BY name LOOP
      IF NOT each.has_project THEN
        PERFORM create_reference_table(each.name);
      ELSE
        PERFORM create_distributed_table(each.name, 'project_id');
      END IF;
    END LOOP;
  END IF;
END
$$;
