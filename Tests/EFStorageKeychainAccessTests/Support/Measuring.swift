import Foundation
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

extension Keychain {
  /// A call of every kind.
  var everyCall: [() throws -> Void] {
    [
      { _ = try self.get("k") }, { _ = try self.getData("k") }, { _ = try self.get("k") { $0 } },
      { try self.set("never to be seen", key: "k") }, { try self.set(Data([1]), key: "k") },
      { try self.set("never to be seen", key: "new") }, { try self.remove("k") }, { try self.removeAll() },
      { _ = try self.keys() }, { _ = try self.items() },
    ]
  }
}
