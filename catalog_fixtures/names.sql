-- Names that need quotes: spaces, quotes, Unicode, keywords, several schemas, and columns named like DuckLake's own.
-- view spaced: SELECT "a column", "naïve ☃" FROM "a table" WHERE "select" > 1
-- view virtual: SELECT v.filename, v.file_row_number, v.snapshot_id FROM "virtual" v
-- view schemas: SELECT a."select", b.k FROM "a table" a JOIN "other schema"."a table" b ON a."select" = b.k

CREATE SCHEMA "other schema";
CREATE TABLE "a table" ("a column" VARCHAR, "select" INTEGER, "naïve ☃" INTEGER, "quo""te" INTEGER);
CREATE TABLE "other schema"."a table" (k INTEGER);
CREATE TABLE "virtual" (filename VARCHAR, file_row_number INTEGER, snapshot_id INTEGER);
INSERT INTO "a table" SELECT 'it''s ' || i, i, -i, i FROM range(20) r(i);
INSERT INTO "other schema"."a table" SELECT i FROM range(0, 20, 2) r(i);
INSERT INTO "virtual" SELECT 'file ' || i, i, 100 + i FROM range(15) r(i);
UPDATE "a table" SET "quo""te" = 0 WHERE "select" = 4;
DELETE FROM "a table" WHERE "a column" = 'it''s 6';
DELETE FROM "virtual" WHERE snapshot_id = 103;
UPDATE "virtual" SET filename = 'other' WHERE file_row_number BETWEEN 5 AND 7;
DELETE FROM "other schema"."a table" WHERE k = 8;
ALTER TABLE "a table" RENAME COLUMN "a column" TO "another, column";
INSERT INTO "a table" VALUES ('x', 10, 0, 0);
ALTER TABLE "a table" RENAME COLUMN "another, column" TO "a column";
INSERT INTO "a table" VALUES ('y', 12, 0, 0);
