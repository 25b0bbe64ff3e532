/// Prolongs all leases by an hour, so that a process on a busy machine does not seem dead to the others.
public func prolongLeases(in database: String, of cluster: PrivateCluster) throws {
    try cluster.query(
        """
        CREATE OR REPLACE FUNCTION prolong() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN NEW.expires_at := NEW.expires_at + interval '1 hour'; RETURN NEW; END $$;
        CREATE OR REPLACE TRIGGER prolong BEFORE INSERT OR UPDATE ON chatterd_processes
        FOR EACH ROW EXECUTE FUNCTION prolong();
        UPDATE chatterd_processes SET expires_at = expires_at
        """, database: database)
}
