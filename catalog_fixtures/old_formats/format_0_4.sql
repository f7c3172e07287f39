-- A lake of format 0.4, as DuckDB 1.5.1 wrote it: a delete, an update, rows older than a column. {folder} stands for its place.

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
COPY (SELECT CAST("id" AS INTEGER) AS "id", CAST("customer" AS VARCHAR) AS "customer", CAST("amount" AS DECIMAL(8,2)) AS "amount", CAST("_ducklake_internal_row_id" AS BIGINT) AS "_ducklake_internal_row_id" FROM (VALUES
    ('3', 'c0', '0.00', '3')
) v("id", "customer", "amount", "_ducklake_internal_row_id")) TO '{folder}/data/main/sales/file-2.parquet' (FIELD_IDS {"id": 1, "customer": 2, "amount": 3, "_ducklake_internal_row_id": 2147483540});

ATTACH '{folder}/catalog.ducklake' AS old;
CREATE TABLE old.ducklake_column(column_id BIGINT, begin_snapshot BIGINT, end_snapshot BIGINT, table_id BIGINT, column_order BIGINT, column_name VARCHAR, column_type VARCHAR, initial_default VARCHAR, default_value VARCHAR, nulls_allowed BOOLEAN, parent_column BIGINT, default_value_type VARCHAR, default_value_dialect VARCHAR);
INSERT INTO old.ducklake_column VALUES
    ('1', '1', NULL, '1', '1', 'id', 'int32', NULL, 'NULL', 'true', NULL, 'literal', 'duckdb'),
    ('2', '1', NULL, '1', '2', 'customer', 'varchar', NULL, 'NULL', 'true', NULL, 'literal', 'duckdb'),
    ('3', '1', NULL, '1', '3', 'amount', 'decimal(8,2)', NULL, 'NULL', 'true', NULL, 'literal', 'duckdb'),
    ('4', '6', NULL, '1', '4', 'note', 'varchar', NULL, 'NULL', 'true', NULL, 'literal', 'duckdb');
CREATE TABLE old.ducklake_column_mapping(mapping_id BIGINT, table_id BIGINT, "type" VARCHAR);
CREATE TABLE old.ducklake_column_tag(table_id BIGINT, column_id BIGINT, begin_snapshot BIGINT, end_snapshot BIGINT, "key" VARCHAR, "value" VARCHAR);
CREATE TABLE old.ducklake_data_file(data_file_id BIGINT PRIMARY KEY, table_id BIGINT, begin_snapshot BIGINT, end_snapshot BIGINT, file_order BIGINT, path VARCHAR, path_is_relative BOOLEAN, file_format VARCHAR, record_count BIGINT, file_size_bytes BIGINT, footer_size BIGINT, row_id_start BIGINT, partition_id BIGINT, encryption_key VARCHAR, mapping_id BIGINT, partial_max BIGINT);
INSERT INTO old.ducklake_data_file VALUES
    ('0', '1', '2', NULL, NULL, 'file-1.parquet', 'true', 'parquet', '12', (SELECT size FROM read_blob('{folder}/data/main/sales/file-1.parquet')), (SELECT footer_size FROM parquet_file_metadata('{folder}/data/main/sales/file-1.parquet')), '0', NULL, NULL, NULL, NULL),
    ('2', '1', '5', NULL, NULL, 'file-2.parquet', 'true', 'parquet', '1', (SELECT size FROM read_blob('{folder}/data/main/sales/file-2.parquet')), (SELECT footer_size FROM parquet_file_metadata('{folder}/data/main/sales/file-2.parquet')), '14', NULL, NULL, NULL, NULL);
CREATE TABLE old.ducklake_delete_file(delete_file_id BIGINT PRIMARY KEY, table_id BIGINT, begin_snapshot BIGINT, end_snapshot BIGINT, data_file_id BIGINT, path VARCHAR, path_is_relative BOOLEAN, format VARCHAR, delete_count BIGINT, file_size_bytes BIGINT, footer_size BIGINT, encryption_key VARCHAR, partial_max BIGINT);
CREATE TABLE old.ducklake_files_scheduled_for_deletion(data_file_id BIGINT, path VARCHAR, path_is_relative BOOLEAN, schedule_start TIMESTAMP WITH TIME ZONE);
CREATE TABLE old.ducklake_file_column_stats(data_file_id BIGINT, table_id BIGINT, column_id BIGINT, column_size_bytes BIGINT, value_count BIGINT, null_count BIGINT, min_value VARCHAR, max_value VARCHAR, contains_nan BOOLEAN, extra_stats VARCHAR);
INSERT INTO old.ducklake_file_column_stats VALUES
    ('0', '1', '1', '70', '12', '0', '0', '11', NULL, NULL),
    ('0', '1', '2', '44', '12', '0', 'c0', 'c2', NULL, NULL),
    ('0', '1', '3', '73', '12', '0', '0.00', '16.50', NULL, NULL),
    ('2', '1', '1', '29', '1', '0', '3', '3', NULL, NULL),
    ('2', '1', '2', '31', '1', '0', 'c0', 'c0', NULL, NULL),
    ('2', '1', '3', '29', '1', '0', '0.00', '0.00', NULL, NULL);
CREATE TABLE old.ducklake_file_partition_value(data_file_id BIGINT, table_id BIGINT, partition_key_index BIGINT, partition_value VARCHAR);
CREATE TABLE old.ducklake_file_variant_stats(data_file_id BIGINT, table_id BIGINT, column_id BIGINT, variant_path VARCHAR, shredded_type VARCHAR, column_size_bytes BIGINT, value_count BIGINT, null_count BIGINT, min_value VARCHAR, max_value VARCHAR, contains_nan BOOLEAN, extra_stats VARCHAR);
CREATE TABLE old.ducklake_inlined_data_1_1(row_id BIGINT, begin_snapshot BIGINT, end_snapshot BIGINT, id INTEGER, customer VARCHAR, amount DECIMAL(8,2));
INSERT INTO old.ducklake_inlined_data_1_1 VALUES
    ('12', '4', NULL, '100', 'c1', '7.25'),
    ('13', '4', NULL, '101', NULL, NULL);
CREATE TABLE old.ducklake_inlined_data_1_2(row_id BIGINT, begin_snapshot BIGINT, end_snapshot BIGINT, id INTEGER, customer VARCHAR, amount DECIMAL(8,2), note VARCHAR);
INSERT INTO old.ducklake_inlined_data_1_2 VALUES
    ('15', '7', NULL, '200', 'c2', '1.00', 'late');
CREATE TABLE old.ducklake_inlined_data_tables(table_id BIGINT, table_name VARCHAR, schema_version BIGINT);
INSERT INTO old.ducklake_inlined_data_tables VALUES
    ('1', 'ducklake_inlined_data_1_1', '1'),
    ('1', 'ducklake_inlined_data_1_2', '2');
CREATE TABLE old.ducklake_inlined_delete_1(file_id BIGINT, row_id BIGINT, begin_snapshot BIGINT);
INSERT INTO old.ducklake_inlined_delete_1 VALUES
    ('0', '0', '3'),
    ('0', '5', '3'),
    ('0', '10', '3'),
    ('0', '3', '5');
CREATE TABLE old.ducklake_macro(schema_id BIGINT, macro_id BIGINT, macro_name VARCHAR, begin_snapshot BIGINT, end_snapshot BIGINT);
CREATE TABLE old.ducklake_macro_impl(macro_id BIGINT, impl_id BIGINT, dialect VARCHAR, "sql" VARCHAR, "type" VARCHAR);
CREATE TABLE old.ducklake_macro_parameters(macro_id BIGINT, impl_id BIGINT, column_id BIGINT, parameter_name VARCHAR, parameter_type VARCHAR, default_value VARCHAR, default_value_type VARCHAR);
CREATE TABLE old.ducklake_metadata("key" VARCHAR NOT NULL, "value" VARCHAR NOT NULL, "scope" VARCHAR, scope_id BIGINT);
INSERT INTO old.ducklake_metadata VALUES
    ('version', '0.4', NULL, NULL),
    ('created_by', 'DuckDB 7dbb2e646f', NULL, NULL),
    ('data_path', '{folder}/data/', NULL, NULL),
    ('encrypted', 'false', NULL, NULL);
CREATE TABLE old.ducklake_name_mapping(mapping_id BIGINT, column_id BIGINT, source_name VARCHAR, target_field_id BIGINT, parent_column BIGINT, is_partition BOOLEAN);
CREATE TABLE old.ducklake_partition_column(partition_id BIGINT, table_id BIGINT, partition_key_index BIGINT, column_id BIGINT, "transform" VARCHAR);
CREATE TABLE old.ducklake_partition_info(partition_id BIGINT, table_id BIGINT, begin_snapshot BIGINT, end_snapshot BIGINT);
CREATE TABLE old.ducklake_schema(schema_id BIGINT PRIMARY KEY, schema_uuid UUID, begin_snapshot BIGINT, end_snapshot BIGINT, schema_name VARCHAR, path VARCHAR, path_is_relative BOOLEAN);
INSERT INTO old.ducklake_schema VALUES
    ('0', 'dd4f03a2-b2b5-4815-bc1a-a759c2871d3e', '0', NULL, 'main', 'main/', 'true');
CREATE TABLE old.ducklake_schema_versions(begin_snapshot BIGINT, schema_version BIGINT, table_id BIGINT);
INSERT INTO old.ducklake_schema_versions VALUES
    ('1', '1', '1'),
    ('6', '2', '1');
CREATE TABLE old.ducklake_snapshot(snapshot_id BIGINT PRIMARY KEY, snapshot_time TIMESTAMP WITH TIME ZONE, schema_version BIGINT, next_catalog_id BIGINT, next_file_id BIGINT);
INSERT INTO old.ducklake_snapshot VALUES
    ('0', '2026-01-02 05:50:48.10556+00', '0', '1', '0'),
    ('1', '2026-01-02 05:50:48.183537+00', '1', '2', '0'),
    ('2', '2026-01-02 05:50:48.239021+00', '1', '2', '1'),
    ('3', '2026-01-02 05:50:48.279534+00', '1', '2', '1'),
    ('4', '2026-01-02 05:50:48.300193+00', '1', '2', '2'),
    ('5', '2026-01-02 05:50:48.305659+00', '1', '2', '3'),
    ('6', '2026-01-02 05:50:48.326997+00', '2', '2', '3'),
    ('7', '2026-01-02 05:50:48.332076+00', '2', '2', '4');
CREATE TABLE old.ducklake_snapshot_changes(snapshot_id BIGINT PRIMARY KEY, changes_made VARCHAR, author VARCHAR, commit_message VARCHAR, commit_extra_info VARCHAR);
INSERT INTO old.ducklake_snapshot_changes VALUES
    ('0', 'created_schema:"main"', NULL, NULL, NULL),
    ('1', 'created_table:"main"."sales"', NULL, NULL, NULL),
    ('2', 'inserted_into_table:1', NULL, NULL, NULL),
    ('3', 'inlined_delete:1', NULL, NULL, NULL),
    ('4', 'inlined_insert:1', NULL, NULL, NULL),
    ('5', 'inserted_into_table:1,inlined_delete:1', NULL, NULL, NULL),
    ('6', 'altered_table:1', NULL, NULL, NULL),
    ('7', 'inlined_insert:1', NULL, NULL, NULL);
CREATE TABLE old.ducklake_sort_expression(sort_id BIGINT, table_id BIGINT, sort_key_index BIGINT, expression VARCHAR, dialect VARCHAR, sort_direction VARCHAR, null_order VARCHAR);
CREATE TABLE old.ducklake_sort_info(sort_id BIGINT, table_id BIGINT, begin_snapshot BIGINT, end_snapshot BIGINT);
CREATE TABLE old.ducklake_table(table_id BIGINT, table_uuid UUID, begin_snapshot BIGINT, end_snapshot BIGINT, schema_id BIGINT, table_name VARCHAR, path VARCHAR, path_is_relative BOOLEAN);
INSERT INTO old.ducklake_table VALUES
    ('1', '01a22b01-7f79-7569-9915-8ab5b2132751', '1', NULL, '0', 'sales', 'sales/', 'true');
CREATE TABLE old.ducklake_table_column_stats(table_id BIGINT, column_id BIGINT, contains_null BOOLEAN, contains_nan BOOLEAN, min_value VARCHAR, max_value VARCHAR, extra_stats VARCHAR);
INSERT INTO old.ducklake_table_column_stats VALUES
    ('1', '1', 'false', NULL, '0', '200', NULL),
    ('1', '2', 'true', NULL, 'c0', 'c2', NULL),
    ('1', '3', 'true', NULL, '0.00', '16.50', NULL);
CREATE TABLE old.ducklake_table_stats(table_id BIGINT, record_count BIGINT, next_row_id BIGINT, file_size_bytes BIGINT);
INSERT INTO old.ducklake_table_stats VALUES
    ('1', '16', '16', '1125');
CREATE TABLE old.ducklake_tag(object_id BIGINT, begin_snapshot BIGINT, end_snapshot BIGINT, "key" VARCHAR, "value" VARCHAR);
CREATE TABLE old.ducklake_view(view_id BIGINT, view_uuid UUID, begin_snapshot BIGINT, end_snapshot BIGINT, schema_id BIGINT, view_name VARCHAR, dialect VARCHAR, "sql" VARCHAR, column_aliases VARCHAR);
DETACH old;
