
CREATE SEQUENCE tool_knowledge_chunk_ids
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

CREATE TABLE tool_knowledge_chunks (
    id bigint NOT NULL,
    document bigint NOT NULL,
    heading bytea NOT NULL,
    start bigint NOT NULL,
    text bytea NOT NULL,
    digest bytea NOT NULL,
    length integer NOT NULL
);

CREATE TABLE tool_knowledge_codes (
    chunk bigint NOT NULL,
    space bigint NOT NULL,
    code bit varying NOT NULL
);

CREATE TABLE tool_knowledge_documents (
    id bigint NOT NULL,
    tenant bigint NOT NULL,
    source bytea NOT NULL,
    digest bytea NOT NULL,
    embedder bytea NOT NULL,
    metadata bytea NOT NULL,
    members text[] NOT NULL
);

ALTER TABLE tool_knowledge_documents ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME tool_knowledge_documents_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE tool_knowledge_postings (
    tenant bigint NOT NULL,
    stem bytea NOT NULL,
    chunk bigint NOT NULL,
    count integer NOT NULL,
    length integer NOT NULL
);

CREATE TABLE tool_knowledge_spaces (
    id bigint NOT NULL,
    tenant bigint NOT NULL,
    embedder bytea NOT NULL,
    dimensions integer NOT NULL
);

ALTER TABLE tool_knowledge_spaces ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME tool_knowledge_spaces_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE tool_knowledge_stems (
    tenant bigint NOT NULL,
    stem bytea NOT NULL,
    chunks bigint NOT NULL
);

CREATE TABLE tool_knowledge_tenants (
    id bigint NOT NULL,
    name bytea NOT NULL,
    chunks bigint DEFAULT 0 NOT NULL,
    stems bigint DEFAULT 0 NOT NULL
);

ALTER TABLE tool_knowledge_tenants ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME tool_knowledge_tenants_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE tool_knowledge_vectors (
    chunk bigint NOT NULL,
    space bigint,
    vector real[] NOT NULL
);
ALTER TABLE ONLY tool_knowledge_vectors ALTER COLUMN vector SET STORAGE EXTERNAL;

CREATE TABLE tool_messages (
    session bigint NOT NULL,
    place bigint NOT NULL,
    message bytea NOT NULL,
    chain bigint NOT NULL
);

CREATE TABLE tool_sessions (
    id bigint NOT NULL,
    name bytea NOT NULL,
    revision bigint NOT NULL,
    messages bigint NOT NULL,
    state bytea NOT NULL,
    saved_at bigint NOT NULL,
    state_checksum bigint NOT NULL,
    chain bigint NOT NULL,
    checksum bigint NOT NULL
);

ALTER TABLE tool_sessions ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME tool_sessions_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE tool_table_versions (
    part text NOT NULL,
    version bigint NOT NULL
);

INSERT INTO tool_knowledge_chunks VALUES (1, 1, '\x48616e64626f6f6b', 0, '\x232048616e64626f6f6b0a0a48656c6c6f2e', '\x7ed352a13e6a1f987647ab0295e0cf90f2a331ab67e4ea158e75de3469232ed4', 3);
INSERT INTO tool_knowledge_chunks VALUES (2, 1, '\x48616e64626f6f6b203e204c65617665', 20, '\x2323204c656176650a0a45766572796f6e652068617320333020646179732e', '\x778df7726c6dbbeeb4bc9968749e0f6c0ce9c2cbaa7902839a19fb6933d5a2b0', 7);
INSERT INTO tool_knowledge_chunks VALUES (3, 2, '\x', 0, '\x426f6f6b20627920747261696e2e0a0a4b656570207468652072656365697074732e', '\xac890707d718ccab154c6204036c9f812d22f3480adcb1c991fea2344c9efdd3', 6);
INSERT INTO tool_knowledge_chunks VALUES (4, 3, '\x4d65616c73', 0, '\x23204d65616c730a0a4c756e636820636f737473202a2a372a2a20636f696e732e', '\x80c29e63857812eae748c0b297ff51a41fc9a5528ecb492884af43c99eff1666', 6);
INSERT INTO tool_knowledge_chunks VALUES (5, 4, '\x', 0, '\x70756220666e2070617273654874747055726c2829207b7d', '\xd6a0837de7d6d366cfcfa2ae6d24ac200740e285e8e87b943eaafa7441fd5e57', 6);
INSERT INTO tool_knowledge_chunks VALUES (6, 5, '\x', 0, '\x4c696b6573207465612e', '\x696de719b1babf033f81592f4905fdf0d730ff7c103e6eb2f75cb4d46dfc090b', 2);
INSERT INTO tool_knowledge_chunks VALUES (8, 7, '\x', 0, '\x686f6d6520636974793a204c6976657320696e204c696d612e', '\x0166c5c09aa0d73338dea699338a3471e48d8cebff6caaf347434ec37772fff4', 5);

INSERT INTO tool_knowledge_codes VALUES (1, 1, B'1110011010111011100000110000001100001110010110100111110110110010111000010001110000011011110111000110000100101100001101110110010100001110011010110101110001010000011110111100100000111110111100101001000000001100100001010110101001011111111110100011000011100001');
INSERT INTO tool_knowledge_codes VALUES (2, 1, B'0110011000110001100011010110011110100110101110101111100100111000110000111011010101011011011011100111011000001001010000110101000011101001010001011011000011010001111100001100110001011100111100111011101010000110000111000111101001111110011110110110110011110010');
INSERT INTO tool_knowledge_codes VALUES (3, 1, B'0000010110000101000111011101110100111101111001100001000110111001010010111001010001010111110000110011111010010001101100100010110000010100010001000111100101110010101100001001111101011110100111011000110011011100000001110001111100111011111010111111100011101000');
INSERT INTO tool_knowledge_codes VALUES (4, 1, B'0100010010111011101100011101001000001001100101100000011101001010010101111010101100000101110111101001010100000011000100000010100000000001001000110101001000111010001110111000100111011111000111110011100110110111110010000100001100110000000101111000111000000011');
INSERT INTO tool_knowledge_codes VALUES (5, 1, B'0011101010011111010010001101111111100001010111100001011001000010101100011100100011110100111001011110110000001010011111011000011001101110010101100011001101010101111111110110011111000111101011001100100011110100000110110011010001110111000110000100110011101010');

INSERT INTO tool_knowledge_documents OVERRIDING SYSTEM VALUE VALUES (1, 1, '\x6c656176652e6d64', '\xbc98687bac1862e7bcb627db3cc15bd2dd2e13f8e1b56ffad218c8b220541b12', '\x746573742f323536', '\x7b22666f6c646572223a222f746d702f68616e64626f6f6b227d', '{ff14db49800fa62d51e5ff160f1f5392}');
INSERT INTO tool_knowledge_documents OVERRIDING SYSTEM VALUE VALUES (2, 1, '\x74726176656c2e747874', '\xef077204a74cc670bffd4e7b8cef8f7a614f693e8eb3b2520045f1e3a83ebeb4', '\x746573742f323536', '\x7b22666f6c646572223a222f746d702f68616e64626f6f6b227d', '{ff14db49800fa62d51e5ff160f1f5392}');
INSERT INTO tool_knowledge_documents OVERRIDING SYSTEM VALUE VALUES (3, 1, '\x6d65616c732e68746d6c', '\x5aa6cb7ad8ce6b8e3dfa1fd9f5d53a4530a032dd0f5384dcdac8a8e5b2692dba', '\x746573742f323536', '\x7b22666f6c646572223a222f746d702f68616e64626f6f6b227d', '{ff14db49800fa62d51e5ff160f1f5392}');
INSERT INTO tool_knowledge_documents OVERRIDING SYSTEM VALUE VALUES (4, 1, '\x75726c732e7273', '\x2c58b7d981968f3da89f72e254099897f78a44736e3345db99976e961946b3bd', '\x746573742f323536', '\x7b22666f6c646572223a222f746d702f68616e64626f6f6b227d', '{ff14db49800fa62d51e5ff160f1f5392}');
INSERT INTO tool_knowledge_documents OVERRIDING SYSTEM VALUE VALUES (5, 2, '\x666163742d353066356632373934323564', '\xc41496afa9ec36bab8e44bb62d7cd44b06ad87139c1f5f2e024f0f3dfcd627e9', '\x', '\x7b226c6561726e65645f66726f6d223a2273657373696f6e2037222c2273617665645f6174223a313739353637363135382e3936353833352c2274657874223a224c696b6573207465612e227d', '{4fdfb44480b541caa57553663693133c,de699b95644e465dc106a4e22ac9a2bb,4b3d62d0aff1104fa84a2140295b7bc1}');
INSERT INTO tool_knowledge_documents OVERRIDING SYSTEM VALUE VALUES (7, 2, '\x7375626a6563742d363939643661313930623439', '\x0c4d3c65f4f90691acdfb5b70f8239079d519bcb373b16e536057ba1f7ec7b87', '\x', '\x7b2261626f7574223a22686f6d652063697479222c22686973746f7279223a5b7b2273617665645f6174223a313739353637363135382e393933313131342c2274657874223a224c6976657320696e204f736c6f2e227d5d2c2273617665645f6174223a313739353637363135392e303233353438382c2274657874223a224c6976657320696e204c696d612e227d', '{5df00b0c47e7f6b4e45cd06fdc16d609,2ab1943cbe0b843b67521755f8b3ba09,e0d20bfd6179dedff964763693b752a5,3ce27010322493bfe4e5659637e3ea45}');

INSERT INTO tool_knowledge_postings VALUES (1, '\x68616e64626f6f6b', 1, 2, 3);
INSERT INTO tool_knowledge_postings VALUES (1, '\x68656c6c6f', 1, 1, 3);
INSERT INTO tool_knowledge_postings VALUES (1, '\x3330', 2, 1, 7);
INSERT INTO tool_knowledge_postings VALUES (1, '\x646179', 2, 1, 7);
INSERT INTO tool_knowledge_postings VALUES (1, '\x65766572796f6e', 2, 1, 7);
INSERT INTO tool_knowledge_postings VALUES (1, '\x68616e64626f6f6b', 2, 1, 7);
INSERT INTO tool_knowledge_postings VALUES (1, '\x686173', 2, 1, 7);
INSERT INTO tool_knowledge_postings VALUES (1, '\x6c656176', 2, 2, 7);
INSERT INTO tool_knowledge_postings VALUES (1, '\x626f6f6b', 3, 1, 6);
INSERT INTO tool_knowledge_postings VALUES (1, '\x6279', 3, 1, 6);
INSERT INTO tool_knowledge_postings VALUES (1, '\x6b656570', 3, 1, 6);
INSERT INTO tool_knowledge_postings VALUES (1, '\x72656365697074', 3, 1, 6);
INSERT INTO tool_knowledge_postings VALUES (1, '\x746865', 3, 1, 6);
INSERT INTO tool_knowledge_postings VALUES (1, '\x747261696e', 3, 1, 6);
INSERT INTO tool_knowledge_postings VALUES (1, '\x37', 4, 1, 6);
INSERT INTO tool_knowledge_postings VALUES (1, '\x636f696e', 4, 1, 6);
INSERT INTO tool_knowledge_postings VALUES (1, '\x636f7374', 4, 1, 6);
INSERT INTO tool_knowledge_postings VALUES (1, '\x6c756e6368', 4, 1, 6);
INSERT INTO tool_knowledge_postings VALUES (1, '\x6d65616c', 4, 2, 6);
INSERT INTO tool_knowledge_postings VALUES (1, '\x666e', 5, 1, 6);
INSERT INTO tool_knowledge_postings VALUES (1, '\x68747470', 5, 1, 6);
INSERT INTO tool_knowledge_postings VALUES (1, '\x70617273', 5, 1, 6);
INSERT INTO tool_knowledge_postings VALUES (1, '\x70617273656874747075726c', 5, 1, 6);
INSERT INTO tool_knowledge_postings VALUES (1, '\x707562', 5, 1, 6);
INSERT INTO tool_knowledge_postings VALUES (1, '\x75726c', 5, 1, 6);
INSERT INTO tool_knowledge_postings VALUES (2, '\x6c696b65', 6, 1, 2);
INSERT INTO tool_knowledge_postings VALUES (2, '\x746561', 6, 1, 2);
INSERT INTO tool_knowledge_postings VALUES (2, '\x63697469', 8, 1, 5);
INSERT INTO tool_knowledge_postings VALUES (2, '\x686f6d65', 8, 1, 5);
INSERT INTO tool_knowledge_postings VALUES (2, '\x696e', 8, 1, 5);
INSERT INTO tool_knowledge_postings VALUES (2, '\x6c696d61', 8, 1, 5);
INSERT INTO tool_knowledge_postings VALUES (2, '\x6c697665', 8, 1, 5);

INSERT INTO tool_knowledge_spaces OVERRIDING SYSTEM VALUE VALUES (1, 1, '\x746573742f323536', 256);

INSERT INTO tool_knowledge_stems VALUES (1, '\x3330', 1);
INSERT INTO tool_knowledge_stems VALUES (1, '\x37', 1);
INSERT INTO tool_knowledge_stems VALUES (1, '\x626f6f6b', 1);
INSERT INTO tool_knowledge_stems VALUES (1, '\x6279', 1);
INSERT INTO tool_knowledge_stems VALUES (1, '\x636f696e', 1);
INSERT INTO tool_knowledge_stems VALUES (1, '\x636f7374', 1);
INSERT INTO tool_knowledge_stems VALUES (1, '\x646179', 1);
INSERT INTO tool_knowledge_stems VALUES (1, '\x65766572796f6e', 1);
INSERT INTO tool_knowledge_stems VALUES (1, '\x666e', 1);
INSERT INTO tool_knowledge_stems VALUES (1, '\x68616e64626f6f6b', 2);
INSERT INTO tool_knowledge_stems VALUES (1, '\x686173', 1);
INSERT INTO tool_knowledge_stems VALUES (1, '\x68656c6c6f', 1);
INSERT INTO tool_knowledge_stems VALUES (1, '\x68747470', 1);
INSERT INTO tool_knowledge_stems VALUES (1, '\x6b656570', 1);
INSERT INTO tool_knowledge_stems VALUES (1, '\x6c656176', 1);
INSERT INTO tool_knowledge_stems VALUES (1, '\x6c756e6368', 1);
INSERT INTO tool_knowledge_stems VALUES (1, '\x6d65616c', 1);
INSERT INTO tool_knowledge_stems VALUES (1, '\x70617273', 1);
INSERT INTO tool_knowledge_stems VALUES (1, '\x70617273656874747075726c', 1);
INSERT INTO tool_knowledge_stems VALUES (1, '\x707562', 1);
INSERT INTO tool_knowledge_stems VALUES (1, '\x72656365697074', 1);
INSERT INTO tool_knowledge_stems VALUES (1, '\x746865', 1);
INSERT INTO tool_knowledge_stems VALUES (1, '\x747261696e', 1);
INSERT INTO tool_knowledge_stems VALUES (1, '\x75726c', 1);
INSERT INTO tool_knowledge_stems VALUES (2, '\x6c696b65', 1);
INSERT INTO tool_knowledge_stems VALUES (2, '\x746561', 1);
INSERT INTO tool_knowledge_stems VALUES (2, '\x63697469', 1);
INSERT INTO tool_knowledge_stems VALUES (2, '\x686f6d65', 1);
INSERT INTO tool_knowledge_stems VALUES (2, '\x696e', 1);
INSERT INTO tool_knowledge_stems VALUES (2, '\x6c696d61', 1);
INSERT INTO tool_knowledge_stems VALUES (2, '\x6c697665', 1);

INSERT INTO tool_knowledge_tenants OVERRIDING SYSTEM VALUE VALUES (1, '\x', 5, 28);
INSERT INTO tool_knowledge_tenants OVERRIDING SYSTEM VALUE VALUES (2, '\x6d656d6f72792f757365722f616461', 2, 7);

INSERT INTO tool_knowledge_vectors VALUES (1, 1, '{0,0,0,0,0,0,0,0,0,0,0,0,0,0,0.4472136,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0.8944272,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}');
INSERT INTO tool_knowledge_vectors VALUES (2, 1, '{0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0.6666667,0,0,0,0,0,0.33333334,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0.33333334,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0.33333334,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0.33333334,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0.33333334,0,0,0,0}');
INSERT INTO tool_knowledge_vectors VALUES (3, 1, '{0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0.4082483,0,0,0,0,0.4082483,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0.4082483,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0.4082483,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0.4082483,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0.4082483,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}');
INSERT INTO tool_knowledge_vectors VALUES (4, 1, '{0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0.35355338,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0.35355338,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0.70710677,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0.35355338,0,0,0,0,0,0,0.35355338,0,0,0,0,0,0,0}');
INSERT INTO tool_knowledge_vectors VALUES (5, 1, '{0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0.57735026,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0.57735026,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0.57735026,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}');

INSERT INTO tool_table_versions VALUES ('tool_sessions', 2);
INSERT INTO tool_table_versions VALUES ('tool_knowledge', 1);

SELECT pg_catalog.setval('tool_knowledge_chunk_ids', 8, true);

SELECT pg_catalog.setval('tool_knowledge_documents_id_seq', 7, true);

SELECT pg_catalog.setval('tool_knowledge_spaces_id_seq', 1, true);

SELECT pg_catalog.setval('tool_knowledge_tenants_id_seq', 2, true);

SELECT pg_catalog.setval('tool_sessions_id_seq', 1, false);

ALTER TABLE ONLY tool_knowledge_chunks
    ADD CONSTRAINT tool_knowledge_chunks_pkey PRIMARY KEY (id);

ALTER TABLE ONLY tool_knowledge_codes
    ADD CONSTRAINT tool_knowledge_codes_pkey PRIMARY KEY (chunk);

ALTER TABLE ONLY tool_knowledge_documents
    ADD CONSTRAINT tool_knowledge_documents_pkey PRIMARY KEY (id);

ALTER TABLE ONLY tool_knowledge_documents
    ADD CONSTRAINT tool_knowledge_documents_tenant_source_key UNIQUE (tenant, source);

ALTER TABLE ONLY tool_knowledge_postings
    ADD CONSTRAINT tool_knowledge_postings_pkey PRIMARY KEY (tenant, stem, chunk) INCLUDE (count, length);

ALTER TABLE ONLY tool_knowledge_spaces
    ADD CONSTRAINT tool_knowledge_spaces_pkey PRIMARY KEY (id);

ALTER TABLE ONLY tool_knowledge_spaces
    ADD CONSTRAINT tool_knowledge_spaces_tenant_embedder_dimensions_key UNIQUE (tenant, embedder, dimensions);

ALTER TABLE ONLY tool_knowledge_stems
    ADD CONSTRAINT tool_knowledge_stems_pkey PRIMARY KEY (tenant, stem);

ALTER TABLE ONLY tool_knowledge_tenants
    ADD CONSTRAINT tool_knowledge_tenants_name_key UNIQUE (name);

ALTER TABLE ONLY tool_knowledge_tenants
    ADD CONSTRAINT tool_knowledge_tenants_pkey PRIMARY KEY (id);

ALTER TABLE ONLY tool_knowledge_vectors
    ADD CONSTRAINT tool_knowledge_vectors_pkey PRIMARY KEY (chunk);

ALTER TABLE ONLY tool_messages
    ADD CONSTRAINT tool_messages_pkey PRIMARY KEY (session, place);

ALTER TABLE ONLY tool_sessions
    ADD CONSTRAINT tool_sessions_name_key UNIQUE (name);

ALTER TABLE ONLY tool_sessions
    ADD CONSTRAINT tool_sessions_pkey PRIMARY KEY (id);

ALTER TABLE ONLY tool_table_versions
    ADD CONSTRAINT tool_table_versions_pkey PRIMARY KEY (part);

CREATE INDEX tool_knowledge_chunks_by_digest ON tool_knowledge_chunks USING btree (digest);

CREATE INDEX tool_knowledge_chunks_of_document ON tool_knowledge_chunks USING btree (document);

CREATE INDEX tool_knowledge_codes_of_space ON tool_knowledge_codes USING btree (space);

CREATE INDEX tool_knowledge_documents_by_member ON tool_knowledge_documents USING gin (members);

CREATE INDEX tool_knowledge_postings_of_chunk ON tool_knowledge_postings USING btree (chunk);

ALTER TABLE ONLY tool_knowledge_chunks
    ADD CONSTRAINT tool_knowledge_chunks_document_fkey FOREIGN KEY (document) REFERENCES tool_knowledge_documents(id);

ALTER TABLE ONLY tool_knowledge_documents
    ADD CONSTRAINT tool_knowledge_documents_tenant_fkey FOREIGN KEY (tenant) REFERENCES tool_knowledge_tenants(id);

ALTER TABLE ONLY tool_knowledge_spaces
    ADD CONSTRAINT tool_knowledge_spaces_tenant_fkey FOREIGN KEY (tenant) REFERENCES tool_knowledge_tenants(id);

