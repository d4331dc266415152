import Foundation
import Synchronization

extension Keychain {
  /// What is told of a failure that the caller is not: of a subscript, and of the listings that begin with `all`.
  ///
  /// Writes the error to standard error, until it is replaced. Process-wide, may be replaced from any thread, and is
  /// called on the thread that the failure is on, outside of every lock. An error never holds a secret.
  public static var failureHandler: @Sendable (KeychainError) -> Void {
    get { handler.withLock { $0 } }
    set {
      // The old one goes after the lock: it may be the last to hold an owner whose `deinit` comes here.
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

  /// The value, or the default after a failure, which is told to the handler.
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
