import Testing

@testable import EFStorageKeychainAccess

/// Expects the call to fail soon with this code; returns the error and the duration.
@discardableResult
func expectFailure(
  _ code: KeychainError.Code, within limit: Duration, sourceLocation: SourceLocation = #_sourceLocation,
  _ body: () throws -> Void
) -> (error: KeychainError?, time: Duration) {
  let start = ContinuousClock.now
  let error = #expect(throws: KeychainError.self, sourceLocation: sourceLocation) { try body() }
  let time = ContinuousClock.now - start
  #expect(error?.code == code, "\(error as Any)", sourceLocation: sourceLocation)
  #expect(time < limit, sourceLocation: sourceLocation)
  return (error, time)
}
