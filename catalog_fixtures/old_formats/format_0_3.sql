-- A lake of format 0.3, as DuckDB 1.4.4 wrote it: a delete, an update, rows older than a column. {folder} stands for its place.

COPY (SELECT CAST("id" AS INTEGER) AS "id", CAST("customer" AS VARCHAR) AS "customer", CAST("amount" AS DECIMAL(8,2)) AS "amount" FROM (VALUES
    ('0', 'c0', '0.00'),
    ('1', 'c1', '1.50'),
    ('2', 'c2', '3.00'),
    ('3', 'c0', '4.50'),
    ('4', 'c1', '6.00'),
    ('5', 'c2', '7.50'),
    ('6', 'c0', '9.00'),
    ('7', 'c1', '10.50'),
    ('8', 'c2', '12.00'),
    ('9', 'c0', '13.50'),
    ('10', 'c1', '15.00'),
    ('11', 'c2', '16.50')
) v("id", "customer", "amount")) TO '{folder}/data/main/sales/file-1.parquet' (FIELD_IDS {"id": 1, "customer": 2, "amount": 3});
COPY (SELECT CAST("file_path" AS VARCHAR) AS "file_path", CAST("pos" AS BIGINT) AS "pos" FROM (VALUES
    ('{folder}/data/main/sales/file-1.parquet', '0'),
    ('{folder}/data/main/sales/file-1.parquet', '5'),
    ('{folder}/data/main/sales/file-1.parquet', '10')
) v("file_path", "pos")) TO '{folder}/data/main/sales/file-2-delete.parquet' (FIELD_IDS {"file_path": 2147483646, "pos": 2147483645});
COPY (SELECT CAST("id" AS INTEGER) AS "id", CAST("customer" AS VARCHAR) AS "customer", CAST("amount" AS DECIMAL(8,2)) AS "amount" FROM (VALUES
    ('100', 'c1', '7.25'),
    ('101', NULL, NULL)
) v("id", "customer", "amount")) TO '{folder}/data/main/sales/file-3.parquet' (FIELD_IDS {"id": 1, "customer": 2, "amount": 3});
COPY (SELECT CAST("id" AS INTEGER) AS "id", CAST("customer" AS VARCHAR) AS "customer", CAST("amount" AS DECIMAL(8,2)) AS "amount", CAST("_ducklake_internal_row_id" AS BIGINT) AS "_ducklake_internal_row_id" FROM (VALUES
    ('3', 'c0', '0.00', '3')
) v("id", "customer", "amount", "_ducklake_internal_row_id")) TO '{folder}/data/main/sales/file-4.parquet' (FIELD_IDS {"id": 1, "customer": 2, "amount": 3, "_ducklake_internal_row_id": 2147483540});
COPY (SELECT CAST("file_path" AS VARCHAR) AS "file_path", CAST("pos" AS BIGINT) AS "pos" FROM (VALUES
    ('{folder}/data/main/sales/file-1.parquet', '0'),
    ('{folder}/data/main/sales/file-1.parquet', '3'),
    ('{folder}/data/main/sales/file-1.parquet', '5'),
    ('{folder}/data/main/sales/file-1.parquet', '10')
) v("file_path", "pos")) TO '{folder}/data/main/sales/file-5-delete.parquet' (FIELD_IDS {"file_path": 2147483646, "pos": 2147483645});
COPY (SELECT CAST("id" AS INTEGER) AS "id", CAST("customer" AS VARCHAR) AS "customer", CAST("amount" AS DECIMAL(8,2)) AS "amount", CAST("note" AS VARCHAR) AS "note" FROM (VALUES
    ('200', 'c2', '1.00', 'late')
) v("id", "customer", "amount", "note")) TO '{folder}/data/main/sales/file-6.parquet' (FIELD_IDS {"id": 1, "customer": 2, "amount": 3, "note": 4});

ATTACH '{folder}/catalog.ducklake' AS old;
CREATE TABLE old.ducklake_column(column_id BIGINT, begin_snapshot BIGINT, end_snapshot BIGINT, table_id BIGINT, column_order BIGINT, column_name VARCHAR, column_type VARCHAR, initial_default VARCHAR, default_value VARCHAR, nulls_allowed BOOLEAN, parent_column BIGINT);
INSERT INTO old.ducklake_column VALUES
    ('1', '1', NULL, '1', '1', 'id', 'int32', NULL, NULL, 'true', NULL),
    ('2', '1', NULL, '1', '2', 'customer', 'varchar', NULL, NULL, 'true', NULL),
    ('3', '1', NULL, '1', '3', 'amount', 'decimal(8,2)', NULL, NULL, 'true', NULL),
    ('4', '6', NULL, '1', '4', 'note', 'varchar', NULL, NULL, 'true', NULL);
CREATE TABLE old.ducklake_column_mapping(mapping_id BIGINT, table_id BIGINT, "type" VARCHAR);
CREATE TABLE old.ducklake_column_tag(table_id BIGINT, column_id BIGINT, begin_snapshot BIGINT, end_snapshot BIGINT, "key" VARCHAR, "value" VARCHAR);
CREATE TABLE old.ducklake_data_file(data_file_id BIGINT PRIMARY KEY, table_id BIGINT, begin_snapshot BIGINT, end_snapshot BIGINT, file_order BIGINT, path VARCHAR, path_is_relative BOOLEAN, file_format VARCHAR, record_count BIGINT, file_size_bytes BIGINT, footer_size BIGINT, row_id_start BIGINT, partition_id BIGINT, encryption_key VARCHAR, partial_file_info VARCHAR, mapping_id BIGINT);
INSERT INTO old.ducklake_data_file VALUES
    ('0', '1', '2', NULL, NULL, 'file-1.parquet', 'true', 'parquet', '12', (SELECT size FROM read_blob('{folder}/data/main/sales/file-1.parquet')), (SELECT footer_size FROM parquet_file_metadata('{folder}/data/main/sales/file-1.parquet')), '0', NULL, NULL, NULL, NULL),
    ('2', '1', '4', NULL, NULL, 'file-3.parquet', 'true', 'parquet', '2', (SELECT size FROM read_blob('{folder}/data/main/sales/file-3.parquet')), (SELECT footer_size FROM parquet_file_metadata('{folder}/data/main/sales/file-3.parquet')), '12', NULL, NULL, NULL, NULL),
    ('3', '1', '5', NULL, NULL, 'file-4.parquet', 'true', 'parquet', '1', (SELECT size FROM read_blob('{folder}/data/main/sales/file-4.parquet')), (SELECT footer_size FROM parquet_file_metadata('{folder}/data/main/sales/file-4.parquet')), '14', NULL, NULL, NULL, NULL),
    ('5', '1', '7', NULL, NULL, 'file-6.parquet', 'true', 'parquet', '1', (SELECT size FROM read_blob('{folder}/data/main/sales/file-6.parquet')), (SELECT footer_size FROM parquet_file_metadata('{folder}/data/main/sales/file-6.parquet')), '15', NULL, NULL, NULL, NULL);
CREATE TABLE old.ducklake_delete_file(delete_file_id BIGINT PRIMARY KEY, table_id BIGINT, begin_snapshot BIGINT, end_snapshot BIGINT, data_file_id BIGINT, path VARCHAR, path_is_relative BOOLEAN, format VARCHAR, delete_count BIGINT, file_size_bytes BIGINT, footer_size BIGINT, encryption_key VARCHAR);
INSERT INTO old.ducklake_delete_file VALUES
    ('1', '1', '3', '5', '0', 'file-2-delete.parquet', 'true', 'parquet', '3', (SELECT size FROM read_blob('{folder}/data/main/sales/file-2-delete.parquet')), (SELECT footer_size FROM parquet_file_metadata('{folder}/data/main/sales/file-2-delete.parquet')), NULL),
    ('4', '1', '5', NULL, '0', 'file-5-delete.parquet', 'true', 'parquet', '4', (SELECT size FROM read_blob('{folder}/data/main/sales/file-5-delete.parquet')), (SELECT footer_size FROM parquet_file_metadata('{folder}/data/main/sales/file-5-delete.parquet')), NULL);
CREATE TABLE old.ducklake_files_scheduled_for_deletion(data_file_id BIGINT, path VARCHAR, path_is_relative BOOLEAN, schedule_start TIMESTAMP WITH TIME ZONE);
CREATE TABLE old.ducklake_file_column_stats(data_file_id BIGINT, table_id BIGINT, column_id BIGINT, column_size_bytes BIGINT, value_count BIGINT, null_count BIGINT, min_value VARCHAR, max_value VARCHAR, contains_nan BOOLEAN, extra_stats VARCHAR);
INSERT INTO old.ducklake_file_column_stats VALUES
    ('0', '1', '1', '70', '12', '0', '0', '11', NULL, NULL),
    ('0', '1', '2', '44', '12', '0', 'c0', 'c2', NULL, NULL),
    ('0', '1', '3', '73', '12', '0', '0.00', '16.50', NULL, NULL),
    ('2', '1', '1', '33', '2', '0', '100', '101', NULL, NULL),
    ('2', '1', '2', '36', '1', '1', 'c1', 'c1', NULL, NULL),
    ('2', '1', '3', '34', '1', '1', '7.25', '7.25', NULL, NULL),
    ('3', '1', '1', '29', '1', '0', '3', '3', NULL, NULL),
    ('3', '1', '2', '31', '1', '0', 'c0', 'c0', NULL, NULL),
    ('3', '1', '3', '29', '1', '0', '0.00', '0.00', NULL, NULL),
    ('5', '1', '1', '29', '1', '0', '200', '200', NULL, NULL),
    ('5', '1', '2', '31', '1', '0', 'c2', 'c2', NULL, NULL),
    ('5', '1', '3', '29', '1', '0', '1.00', '1.00', NULL, NULL),
    ('5', '1', '4', '33', '1', '0', 'late', 'late', NULL, NULL);
CREATE TABLE old.ducklake_file_partition_value(data_file_id BIGINT, table_id BIGINT, partition_key_index BIGINT, partition_value VARCHAR);
CREATE TABLE old.ducklake_inlined_data_tables(table_id BIGINT, table_name VARCHAR, schema_version BIGINT);
CREATE TABLE old.ducklake_metadata("key" VARCHAR NOT NULL, "value" VARCHAR NOT NULL, "scope" VARCHAR, scope_id BIGINT);
INSERT INTO old.ducklake_metadata VALUES
    ('version', '0.3', NULL, NULL),
    ('created_by', 'DuckDB 6ddac802ff', NULL, NULL),
    ('data_path', '{folder}/data/', NULL, NULL),
    ('encrypted', 'false', NULL, NULL);
CREATE TABLE old.ducklake_name_mapping(mapping_id BIGINT, column_id BIGINT, source_name VARCHAR, target_field_id BIGINT, parent_column BIGINT, is_partition BOOLEAN);
CREATE TABLE old.ducklake_partition_column(partition_id BIGINT, table_id BIGINT, partition_key_index BIGINT, column_id BIGINT, "transform" VARCHAR);
CREATE TABLE old.ducklake_partition_info(partition_id BIGINT, table_id BIGINT, begin_snapshot BIGINT, end_snapshot BIGINT);
CREATE TABLE old.ducklake_schema(schema_id BIGINT PRIMARY KEY, schema_uuid UUID, begin_snapshot BIGINT, end_snapshot BIGINT, schema_name VARCHAR, path VARCHAR, path_is_relative BOOLEAN);
INSERT INTO old.ducklake_schema VALUES
    ('0', '54835ff9-d11c-4831-9c8f-6017681d31b8', '0', NULL, 'main', 'main/', 'true');
CREATE TABLE old.ducklake_schema_versions(begin_snapshot BIGINT, schema_version BIGINT);
INSERT INTO old.ducklake_schema_versions VALUES
    ('0', '0'),
    ('1', '1'),
    ('6', '2');
CREATE TABLE old.ducklake_snapshot(snapshot_id BIGINT PRIMARY KEY, snapshot_time TIMESTAMP WITH TIME ZONE, schema_version BIGINT, next_catalog_id BIGINT, next_file_id BIGINT);
INSERT INTO old.ducklake_snapshot VALUES
    ('0', '2026-01-02 05:50:46.951906+00', '0', '1', '0'),
    ('1', '2026-01-02 05:50:47.037398+00', '1', '2', '0'),
    ('2', '2026-01-02 05:50:47.051587+00', '1', '2', '1'),
    ('3', '2026-01-02 05:50:47.13271+00', '1', '2', '2'),
    ('4', '2026-01-02 05:50:47.161868+00', '1', '2', '3'),
    ('5', '2026-01-02 05:50:47.185603+00', '1', '2', '5'),
    ('6', '2026-01-02 05:50:47.27584+00', '2', '2', '5'),
    ('7', '2026-01-02 05:50:47.300091+00', '2', '2', '6');
CREATE TABLE old.ducklake_snapshot_changes(snapshot_id BIGINT PRIMARY KEY, changes_made VARCHAR, author VARCHAR, commit_message VARCHAR, commit_extra_info VARCHAR);
INSERT INTO old.ducklake_snapshot_changes VALUES
    ('0', 'created_schema:"main"', NULL, NULL, NULL),
    ('1', 'created_table:"main"."sales"', NULL, NULL, NULL),
    ('2', 'inserted_into_table:1', NULL, NULL, NULL),
    ('3', 'deleted_from_table:1', NULL, NULL, NULL),
    ('4', 'inserted_into_table:1', NULL, NULL, NULL),
    ('5', 'inserted_into_table:1,deleted_from_table:1', NULL, NULL, NULL),
    ('6', 'altered_table:1', NULL, NULL, NULL),
    ('7', 'inserted_into_table:1', NULL, NULL, NULL);
CREATE TABLE old.ducklake_table(table_id BIGINT, table_uuid UUID, begin_snapshot BIGINT, end_snapshot BIGINT, schema_id BIGINT, table_name VARCHAR, path VARCHAR, path_is_relative BOOLEAN);
INSERT INTO old.ducklake_table VALUES
    ('1', '01a22b01-7afe-7ccc-958f-b8b1bb8d37f7', '1', NULL, '0', 'sales', 'sales/', 'true');
CREATE TABLE old.ducklake_table_column_stats(table_id BIGINT, column_id BIGINT, contains_null BOOLEAN, contains_nan BOOLEAN, min_value VARCHAR, max_value VARCHAR, extra_stats VARCHAR);
INSERT INTO old.ducklake_table_column_stats VALUES
    ('1', '1', 'false', NULL, '0', '200', NULL),
    ('1', '2', 'true', NULL, 'c0', 'c2', NULL),
    ('1', '3', 'true', NULL, '0.00', '16.50', NULL);
CREATE TABLE old.ducklake_table_stats(table_id BIGINT, record_count BIGINT, next_row_id BIGINT, file_size_bytes BIGINT);
INSERT INTO old.ducklake_table_stats VALUES
    ('1', '16', '16', '2048');
CREATE TABLE old.ducklake_tag(object_id BIGINT, begin_snapshot BIGINT, end_snapshot BIGINT, "key" VARCHAR, "value" VARCHAR);
CREATE TABLE old.ducklake_view(view_id BIGINT, view_uuid UUID, begin_snapshot BIGINT, end_snapshot BIGINT, schema_id BIGINT, view_name VARCHAR, dialect VARCHAR, "sql" VARCHAR, column_aliases VARCHAR);
DETACH old;
