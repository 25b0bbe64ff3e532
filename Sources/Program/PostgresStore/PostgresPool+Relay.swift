import ChatterdPostgres
import ChatterdRelay

extension PostgresPool {
    /// Runs a transaction.
    ///
    /// - Parameters:
    ///   - attempts: the maximum number of attempts. The transaction is repeated if another one has inserted a row with the same
    ///     key, or both waited for each other.
    ///   - code: the code of errors that an unavailable store does not explain.
    /// - Throws: `storeUnavailable`, or an error with `code`.
    public func runForRelay(
        _ transaction: Transaction, attempts: Int = 1, otherwise code: RelayError.Code = .internal
    ) async throws(RelayError) -> Transaction.Results {
        do throws(PostgresError) {
            return try await run(transaction, attempts: attempts)
        } catch {
            throw RelayError(error, otherwise: code)
        }
    }

    /// Runs a transaction, and repeats it as `runForRelay` does.
    func run(_ transaction: Transaction, attempts: Int) async throws(PostgresError) -> Transaction.Results {
        var left = attempts
        while true {
            left -= 1
            do throws(PostgresError) {
                return try await run(transaction)
            } catch  where (error.code == .uniqueViolation || error.code == .serializationFailure) && left > 0 {
                continue
            }
        }
    }

    /// Runs a query as a transaction.
    ///
    /// - Throws: as `runForRelay` of a transaction.
    public func runForRelay<Record>(
        _ query: Query<Record>, attempts: Int = 1, otherwise code: RelayError.Code = .internal
    ) async throws(RelayError) -> Rows<Record> {
        var transaction = Transaction()
        let step = transaction.add(query)
        return try await runForRelay(transaction, attempts: attempts, otherwise: code)[step]
    }
}
