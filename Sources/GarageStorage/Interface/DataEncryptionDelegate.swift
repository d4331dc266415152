public import Foundation

/// Encrypts objects on their way to the disk, and decrypts them.
///
/// What is encrypted is the JSON of each object. The names of types, identifiers and sync statuses are not: objects are
/// found by them. The identifier of an object that has none of its own is a digest of its content, from which content
/// that can be guessed can be confirmed.
///
/// Its functions are called on the threads that use the garage, several at once if the garage is used so, and on threads of
/// the garage's own for long chains of objects. They must not use the garage.
public protocol DataEncryptionDelegate: AnyObject {
  /// Returns the encrypted form of an object's JSON. What it throws is thrown by the parking.
  func encrypt(_ data: Data) throws -> String

  /// Returns the JSON that was encrypted. What it throws is thrown by the retrieval.
  func decrypt(_ string: String) throws -> Data
}
