"""The configurations in deploy/ with nginx, HAProxy and PgBouncer: script/test proxies."""
