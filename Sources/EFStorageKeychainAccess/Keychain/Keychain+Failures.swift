import Foundation
import Synchronization

extension Keychain {
  /// Receives the failures of subscripts and of the listings that begin with `all`, which do not throw. By default it
  /// writes to the standard error.
  ///
  /// Process-wide. Any thread may replace it; it is called on the failing thread without a lock. An error never holds a
  /// secret.
  public static var failureHandler: @Sendable (KeychainError) -> Void {
    get { handler.withLock { $0 } }
    set {
      // Released after the lock: it may be the last reference to an owner whose `deinit` comes here.
      let old = handler.withLock { handler in
        defer { handler = newValue }
        return handler
      }
      withExtendedLifetime(old) {}
    }
  }

  private static let handler = Mutex<@Sendable (KeychainError) -> Void> { error in
    FileHandle.standardError.write(Data("Keychain: \(error)\n".utf8))
  }

  /// Returns the value, or passes a failure to the handler and returns the default.
  static func reporting<Value>(default: Value, _ body: () throws -> Value) -> Value {
    do {
      return try body()
    } catch {
      failureHandler(KeychainError(wrapping: error))
      return `default`
    }
  }

  func reporting<Value>(default: Value, _ body: () throws -> Value) -> Value {
    Self.reporting(default: `default`, body)
  }
}
