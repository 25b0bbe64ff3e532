-- The roles and the database of chatterd: Patroni runs it once, as the superuser (post_init). On the machines /etc/patroni/chatterd.sql.
-- chatterd may not create roles. It needs chatterd_member for the checks of PostgreSQL's row-level security (docs/access.md).
CREATE ROLE chatterd LOGIN PASSWORD 'change-me-chatterd';
CREATE ROLE chatterd_member NOLOGIN;
GRANT chatterd_member TO chatterd;
CREATE DATABASE chatterd OWNER chatterd;
